"""The rewriter from a network of real numbers to a network of integers, value by value.

A value has one or more forms (`forms.ValueForms`), and further forms are made on demand: int8 of
some scale, or real numbers under the value's old name. An accumulator stays pending until its
users are seen, so that clipping and a residual sum join its requantisation. A value without an
integer form is computed in real numbers as before, so that operators need no rule to be right.

Values are made from others on demand, to any depth: the methods that make them call each other by a
trampoline (`trampoline.py`), so that Python's stack is no limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Literal, TypeVar

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Let, Value, Var
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.reasons import Reason
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import atoms, bodies, map_bodies, names_in, use_counts
from tandem.compiler.quantise.builder import Builder
from tandem.compiler.quantise.compressed.compressor import Compression
from tandem.compiler.quantise.forms import (
    Concatenation,
    Form,
    Int8Value,
    PendingAccumulator,
    Scale,
    StatedInt8,
    Upsampling,
    ValueForms,
)
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.rule import Rule
from tandem.compiler.quantise.stored_once import stored_once
from tandem.compiler.quantise.trampoline import Steps, run

A = TypeVar("A", bound=Attributes)
_NO_RULE = "quantisation has no integer form of it"
UNREAD = "its result is read in real numbers only"
"""Why a value stays in real numbers although it has a rule that refuses nothing."""
_AS_ASKED = "it stays in float32, as asked for"


class Rewriter:
    """Rewrites a body, and the bodies within it.

    Parameters
    ----------
    types
        Types of all values of the function, by name.
    chosen
        Scales of float32 values that may become int8, by name. Other values become int8 only where
        a `quantise` states a scale.
    rules
        Rules by the operator's name.
    builder
        The builder of the new body.
    around
        The forms of the values around the body, by name: parameters, in the body of a function.
    measured
        Names of the values whose ranges calibration measures, if samples reach them.
    compression
        The formats of layers whose weights are not int8.
    """

    def __init__(
        self,
        types: Mapping[str, Type],
        chosen: Mapping[str, Scale],
        options: QuantiseOptions,
        rules: Mapping[str, Rule[Rewriter]],
        builder: Builder,
        around: Mapping[str, ValueForms],
        measured: Set[str],
        compression: Compression | None = None,
    ) -> None:
        self.types = types
        self.chosen = chosen
        self.measured = measured
        self.compression = compression
        self.options = options
        self.uses = Counter[str]()
        self.builder = builder
        self._rules = rules
        self._forms = dict(around)
        self._unscalable: set[str] = set()
        """Names of accumulators for whose scale no requantisation is exact."""
        self._refusals: dict[str, str] = {}
        """Why values stay in real numbers, by name."""
        self.states_scales = False
        """Whether the body states scales, as that of a QDQ network does."""

    def body(self, body: Body) -> Body:
        """The quantised body, whose results are approximately those of `body`."""
        self.uses = use_counts(body)
        self.states_scales = any(_states_scale(let.value) for let in body.lets)
        for let in body.lets:
            forms = self._forms[let.name] = ValueForms(let)
            value = let.value
            if isinstance(value, Call) and isinstance(value.callee, OpSpec):
                rule = self._rules.get(value.callee.name)
                if let.keep_float:
                    self.refuse(let.name, _AS_ASKED)
                elif rule is not None and rule.rewrite(self, let.name, value):
                    if rule.always_int8(value) and isinstance(forms.form, PendingAccumulator):
                        forms.form = replace(forms.form, always_int8=True)
                    continue
            if bodies(value):
                # Any of the inner bodies may run, and they may read all values around them.
                self.emit_real(Var(let.name))
        self.emit_real(body.result)
        return stored_once(self.builder, body.result, self.chosen)

    # For rules -----------------------------------------------------------------------------------

    def type(self, atom: Atom) -> TensorType:
        """An operand's type."""
        found = atom.type if isinstance(atom, Constant) else self.types[atom.name]
        assert isinstance(found, TensorType), "verified: operators take tensors"
        return found

    def form(self, atom: Atom) -> Form | None:
        """The integer form that a value can be made from; None without one."""
        return None if isinstance(atom, Constant) else self._forms[atom.name].form

    def is_unshared(self, atom: Atom) -> bool:
        """Whether a value has one use, and has not been emitted or made int8."""
        if isinstance(atom, Constant):
            return False
        forms = self._forms[atom.name]
        return self.uses[atom.name] == 1 and not forms.emitted and forms.int8 is None

    def repeats(self, name: str, atom: Atom) -> None:
        """Records that a value is another one, so that the users of one are users of both."""
        if isinstance(atom, Var):
            self.uses[name] += self.uses[atom.name] - 1

    def refuse(self, name: str, text: str) -> Literal[False]:
        """Records why a value stays in real numbers: the limit, and what would help. Returns
        False."""
        self._refusals[name] = text
        return False

    def set_form(self, name: str, form: Form) -> bool:
        """Records the form that a value can be made from. Returns True."""
        self._forms[name].form = form
        return True

    def set_int8(self, name: str, value: Int8Value) -> bool:
        """Records the int8 tensor of a value. Returns True."""
        forms = self._forms[name]
        forms.int8 = forms.int8_of_scale[value.scale] = value
        return True

    def int8(self, atom: Atom) -> Int8Value | None:
        """A value as int8 of its own scale; None if the value has no int8 form."""
        if isinstance(atom, Constant):
            return None
        forms = self._forms[atom.name]
        scale = self._own_scale(atom.name)
        if forms.int8 is None and scale is not None:
            forms.int8 = self.int8_of_scale(atom, scale)
        return forms.int8

    def may_be_int8(self, atom: Atom) -> bool:
        """Whether `int8` returns a tensor for the value."""
        return isinstance(atom, Var) and self._own_scale(atom.name) is not None

    def is_int8(self, atom: Atom) -> bool:
        """Whether the value is int8 already, or repeats one that is."""
        return isinstance(atom, Var) and self._forms[self._repeated(atom.name)].int8 is not None

    def int8_of_scale(self, atom: Var, scale: Scale) -> Int8Value:
        """A value as int8 of the given scale."""
        return run(self._int8_of_scale(atom, scale))

    def accumulator_of(self, value: Int8Value) -> PendingAccumulator:
        """An int8 tensor as an accumulator of one term."""
        return self.builder.accumulator_of(value)

    def emit_real(self, atom: Atom) -> None:
        """Emits a value in real numbers under its name, unless already emitted."""
        run(self._emit_real(atom))

    def _repeated(self, name: str) -> str:
        """The value of which a value without an int8 tensor repeats the elements; else itself."""
        forms = self._forms[name]
        while forms.int8 is None and isinstance(forms.form, Upsampling):
            name = forms.form.of.name
            forms = self._forms[name]
        return name

    def _own_scale(self, name: str) -> Scale | None:
        """The scale of a value as int8, which is that of the value that it repeats."""
        name = self._repeated(name)
        found = self._forms[name].int8
        return self.chosen.get(name) if found is None else found.scale

    # How values are made -------------------------------------------------------------------------

    def _int8_of_scale(self, atom: Var, scale: Scale) -> Steps[Int8Value]:
        forms = self._forms[atom.name]
        if scale not in forms.int8_of_scale:
            forms.int8_of_scale[scale] = yield self._make_int8(atom, forms, scale)
        return forms.int8_of_scale[scale]

    def _emit_real(self, atom: Atom) -> Steps[None]:
        if isinstance(atom, Constant) or self._forms[atom.name].emitted:
            return
        forms = self._forms[atom.name]
        forms.emitted = True
        yield self._emit(atom.name, forms)

    def _make_int8(self, atom: Var, forms: ValueForms, scale: Scale) -> Steps[Int8Value]:
        name, form = atom.name, forms.form
        if isinstance(form, PendingAccumulator):
            try:
                if self._needs_several_scales(name, form, scale):
                    first: Int8Value = yield self._int8_of_scale(atom, self.chosen[name])
                    form = self.accumulator_of(first)
                return self.builder.requantise(name, form, scale)
            except QuantisationError as error:
                # The accumulator becomes real numbers first, then int8.
                self._unscalable.add(name)
                self.refuse(
                    name,
                    f"its sums have no exact requantisation ({error}): another scale of its result "
                    "would help",
                )
                self.builder.explain(form.acc.name, self._refusals[name])
        elif isinstance(form, Concatenation):
            parts: list[Var] = []
            for part in form.names:
                value: Int8Value = yield self._int8_of_scale(Var(part), scale)
                parts.append(value.var)
            joined = self.builder.call(name, "_int8", "concat", parts, form.attributes)
            moved = self.builder.moved(name, joined, form.moves)
            return self.builder.int8_value(name, moved, scale)
        elif isinstance(form, Upsampling):
            small: Int8Value = yield self._int8_of_scale(form.of, scale)
            data = self.builder.call(name, "_int8", "upsample", [small.var], form.attributes)
            return self.builder.int8_value(name, data, scale)
        elif forms.int8 is not None:
            return self.builder.requantise(name, self.accumulator_of(forms.int8), scale)
        yield self._emit_real(atom)
        return self.builder.quantise(name, scale)

    def _needs_several_scales(self, name: str, form: PendingAccumulator, scale: Scale) -> bool:
        """Whether an int8 value of another scale than its own is made from the value of its own
        scale, because that is read too: an accelerator gives the sums of a layer once, as int8."""
        own = self.chosen.get(name)
        return form.always_int8 and own not in (None, scale) and self.uses[name] > 1

    def _emit(self, name: str, forms: ValueForms) -> Steps[None]:
        """Emits a value under its name, from its integer form if there is one."""
        self.builder.release(name)
        form, scale = forms.form, self._own_scale(name)
        pending = isinstance(form, PendingAccumulator | Concatenation | Upsampling)
        if (
            isinstance(form, PendingAccumulator)
            and form.residual is None
            and not form.moves
            and forms.int8 is None
            and not (form.always_int8 and name in self.chosen)
        ):
            self._emit_accumulator(name, form)
        elif self._is_better_real(forms):
            self.refuse(name, "its operand is computed in real numbers, as its result is read")
            yield self._emit_unchanged(forms)
        elif isinstance(form, StatedInt8):
            value: Int8Value = yield self._int8_of_scale(form.of, form.scale)
            self.builder.emit_integer(name, value, self.type(Var(name)))
        elif name in self._unscalable or (
            forms.int8 is None and not (pending and scale is not None)
        ):
            yield self._emit_unchanged(forms)
        else:
            forms.emitted = False
            if forms.int8 is None:
                assert scale is not None, "else unchanged"
                forms.int8 = yield self._int8_of_scale(Var(name), scale)
            assert forms.int8 is not None, "made just now"
            # Without an exact multiplier, `int8` may have emitted the real value already.
            if not forms.emitted:
                forms.emitted = True
                self.builder.dequantise(name, forms.int8)

    def _is_better_real(self, forms: ValueForms) -> bool:
        """Whether a value for users in real numbers is best computed in real numbers, though it has
        an integer form: an accumulator with a residual that is computed in real numbers, such as a
        normalised token, or such a residual in another layout. Rounding to int8 would only lose
        bits, and in a deep network the errors add up.
        """
        if forms.let is None or not isinstance(forms.let.value, Call):
            return False
        if _moves(forms.let.value):
            return self._is_real_first(forms.let.name)
        if not isinstance(forms.form, PendingAccumulator) or forms.form.residual is None:
            return False
        operands = [each for each in forms.let.value.args if isinstance(each, Var)]
        return forms.int8 is None and any(self._is_real_first(each.name) for each in operands)

    def _is_real_first(self, name: str) -> bool:
        """Whether a value is computed in real numbers, and perhaps moved; not so parameters."""
        forms = self._forms[name]
        while (
            forms.let is not None
            and _moves(forms.let.value)
            and (forms.form is None or isinstance(forms.form, Upsampling))
        ):
            assert isinstance(forms.let.value, Call), "it moves"
            (operand,) = forms.let.value.args
            if not isinstance(operand, Var):
                return False
            forms = self._forms[operand.name]
        return forms.let is not None and forms.form is None and forms.emitted

    def _emit_accumulator(self, name: str, pending: PendingAccumulator) -> None:
        """Emits an accumulator as a real value, without rounding to int8."""
        if pending.low is None and pending.high is None:
            self.builder.dequantise_accumulator(name, "", pending)
            return
        free = self.builder.dequantise_accumulator(name, "_sums", pending)
        if pending.low == 0 and pending.high is None:
            self.builder.emit(name, "relu", [free], NO_ATTRIBUTES)
        else:
            self.builder.emit(name, "clip", [free], Clip(pending.low, pending.high))

    def _emit_unchanged(self, forms: ValueForms) -> Steps[None]:
        """Emits the original computation in real numbers, after all values that it reads."""
        assert forms.let is not None, "parameters exist"
        value = forms.let.value
        for atom in atoms(value):
            yield self._emit_real(atom)
        for inner in bodies(value):
            for name in dict.fromkeys(names_in(inner)):
                if name in self._forms:
                    yield self._emit_real(Var(name))
        let = replace(forms.let, value=map_bodies(value, self._inner))
        self.builder.lets.append(replace(let, reasons=self._reasons(forms.let)))

    def _reasons(self, let: Let) -> tuple[Reason, ...]:
        """Why a value stays in real numbers, if it is one of real numbers."""
        value, type_ = let.value, self.types[let.name]
        if not isinstance(value, Call) or not isinstance(value.callee, OpSpec):
            return let.reasons
        is_float = isinstance(type_, TensorType) and type_.dtype.is_float
        if not is_float and not _states_scale(value):
            return let.reasons
        text = self._refusals.get(let.name)
        if text is None:
            if value.callee.name not in self._rules and value.callee.pattern is OpPattern.INJECTIVE:
                return let.reasons  # Integers could move likewise.
            text = UNREAD if value.callee.name in self._rules else _NO_RULE
        return (*let.reasons, Reason(let.operator, text))

    def _inner(self, body: Body) -> Body:
        """The quantised body of a branch, which reads values around it in any of their forms."""
        around = {
            name: ValueForms(None, True, None, forms.int8, dict(forms.int8_of_scale))
            for name, forms in self._forms.items()
            if forms.emitted
        }
        builder = self.builder.inner()
        inner = Rewriter(
            *(self.types, self.chosen, self.options, self._rules, builder, around),
            *(self.measured, self.compression),
        )
        return inner.body(body)


def _moves(value: Value) -> bool:
    """Whether a value has the elements of its only operand, at other places."""
    return (
        isinstance(value, Call)
        and isinstance(value.callee, OpSpec)
        and value.callee.pattern is OpPattern.INJECTIVE
        and len(value.args) == 1
    )


def _states_scale(value: Value) -> bool:
    """Whether a value is the rounding of another one to a scale."""
    return isinstance(value, Call) and value.callee.name == "quantise"


def attributes_of(call: Call, kind: type[A]) -> A:
    """The attributes of an operator's call, whose class the verifier has checked."""
    assert isinstance(call.attributes, kind), "verified"
    return call.attributes

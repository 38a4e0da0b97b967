"""From a network of real numbers to one of integers, value by value.

Every value is known in the forms that it exists in (`forms.Known`), and more are made when somebody
asks: as int8 of some scale, or as it was, under its old name. A sum of products waits until it is
known what becomes of it, so that clipping and a residual sum are part of its requantisation. What
has no form in integers is computed as it was. So everything that is not understood is right, and
stays in real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

import numpy as np

from compiler.errors import QuantisationError
from compiler.graph.attributes import NOTHING, Attributes
from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Body, Call, Function, Var
from compiler.graph.operators.elementwise import Clip
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import atoms, bodies, names_in, use_counts
from compiler.quantise.builder import Builder
from compiler.quantise.forms import Encoded, Form, Joined, Known, Scale, Small, Sums
from compiler.quantise.options import QuantiseOptions

__all__ = ["Rule", "Walk", "attributes_of"]

A = TypeVar("A", bound=Attributes)


class Walk:
    """The walk over a function's body.

    Parameters
    ----------
    types
        Of all its values.
    chosen
        Scales of float32 values that may become int8. Others do where a `quantise` says how.
    rules
        What operators make of integers, by name.
    """

    def __init__(
        self,
        function: Function,
        types: Mapping[str, Type],
        chosen: Mapping[str, Scale],
        options: QuantiseOptions,
        rules: Mapping[str, Rule],
    ) -> None:
        self.types = types
        self.chosen = chosen
        self.options = options
        self.uses = use_counts(function.body)
        self.builder = Builder(types)
        self._rules = rules
        self._known = {each.name: Known(None, emitted=True) for each in function.params}
        self._stuck: set[str] = set()

    def body(self, body: Body) -> Body:
        """The body with integers in it, which gives the same, nearly."""
        for let in body.lets:
            self._known[let.name] = Known(let)
            value = let.value
            if isinstance(value, Call) and isinstance(value.callee, OpSpec):
                rule = self._rules.get(value.callee.name)
                if rule is not None and rule(self, let.name, value):
                    continue
            if bodies(value):
                # What it decides is not known, and it sees all that is around it.
                self.real(Var(let.name))
        self.real(body.result)
        return Body(tuple(self.builder.lets), body.result)

    # What rules ask ----------------------------------------------------------------------------

    def type(self, atom: Atom) -> TensorType:
        """An operand's type."""
        found = atom.type if isinstance(atom, Constant) else self.types[atom.name]
        assert isinstance(found, TensorType), "verified: operators take tensors"
        return found

    def form(self, atom: Atom) -> Form | None:
        """What a value can be made from."""
        return None if isinstance(atom, Constant) else self._known[atom.name].form

    def once(self, atom: Atom) -> bool:
        """Whether nobody else uses the value, and it exists in no form yet."""
        if isinstance(atom, Constant):
            return False
        known = self._known[atom.name]
        return self.uses[atom.name] == 1 and not known.emitted and known.own is None

    def set_form(self, name: str, form: Form) -> bool:
        """The value can be made from this."""
        self._known[name].form = form
        return True

    def set_own(self, name: str, var: Var, scale: Scale) -> bool:
        """The value is this int8 tensor."""
        return self.set_small(name, self.builder.small(name, var, scale))

    def small(self, atom: Atom) -> Small | None:
        """The value as int8, of its own scale; None if it is not to be."""
        if isinstance(atom, Constant):
            return None
        known = self._known[atom.name]
        if known.own is None and atom.name in self.chosen:
            known.own = self.small_of(atom, self.chosen[atom.name])
        return known.own

    def may_be_small(self, atom: Atom) -> bool:
        """Whether `small` gives something."""
        if isinstance(atom, Constant):
            return False
        return atom.name in self.chosen or self._known[atom.name].own is not None

    def is_small(self, atom: Atom) -> bool:
        """Whether the value is int8 already."""
        return isinstance(atom, Var) and self._known[atom.name].own is not None

    def set_small(self, name: str, given: Small) -> bool:
        """The value is what an int8 tensor that is there stands for."""
        known = self._known[name]
        known.own = known.small[given.scale] = given
        return True

    def small_of(self, atom: Var, scale: Scale) -> Small:
        """The value as int8 of that scale."""
        known = self._known[atom.name]
        if scale not in known.small:
            known.small[scale] = self._made(atom, known, scale)
        return known.small[scale]

    def real(self, atom: Atom) -> None:
        """The value has to exist as it was."""
        if isinstance(atom, Constant) or self._known[atom.name].emitted:
            return
        known = self._known[atom.name]
        known.emitted = True
        self._emit(atom.name, known)

    # How values are made -------------------------------------------------------------------------

    def _made(self, atom: Var, known: Known, scale: Scale) -> Small:
        name, form = atom.name, known.form
        if isinstance(form, Sums):
            try:
                return self.builder.outputs(name, form, scale)
            except QuantisationError:
                # Then real numbers are between the sums and what they become.
                self._stuck.add(name)
        elif isinstance(form, Joined):
            parts = [self.small_of(Var(each), scale).var for each in form.names]
            joined = self.builder.call(name, "_int8", "concat", parts, form.attributes)
            return self.builder.small(name, joined, scale)
        elif known.own is not None:
            return self.builder.outputs(name, self.sums_of(known.own), scale)
        self.real(atom)
        return self.builder.quantised(name, scale)

    def sums_of(self, given: Small) -> Sums:
        """An int8 tensor as sums of one term."""
        wide = self.builder.wide(given.var.name, given.var)
        zero = np.array([-given.scale.zero], np.int64)
        return Sums(wide, np.array([given.scale.step]), zero, 128)

    def _emit(self, name: str, known: Known) -> None:
        """The value under its name, from integers if these hold it."""
        self.builder.release(name)
        form = known.form
        narrow = isinstance(form, Sums) and form.narrow and name in self.chosen
        if isinstance(form, Sums) and form.skip is None and known.own is None and not narrow:
            self._emit_sums(name, form)
        elif isinstance(form, Encoded):
            self.builder.encoded(name, self.small_of(form.of, form.scale), self.type(Var(name)))
        elif name in self._stuck or (known.own is None and not self._has_sum(name, form)):
            self._emit_plain(known)
        else:
            known.emitted = False
            own = self.small(Var(name))
            assert own is not None, "it is, or may be"
            if not known.emitted:
                # Else it had to be there first, for want of a multiplier.
                known.emitted = True
                self.builder.dequantised(name, own)

    def _has_sum(self, name: str, form: Form | None) -> bool:
        """Whether it is worth being int8 first."""
        return isinstance(form, Sums | Joined) and name in self.chosen

    def _emit_sums(self, name: str, sums: Sums) -> None:
        """Exactly what the integers say, without a rounding to int8."""
        if sums.low is None and sums.high is None:
            self.builder.real_sums(name, "", sums)
            return
        free = self.builder.real_sums(name, "_sums", sums)
        if sums.low == 0 and sums.high is None:
            self.builder.named(name, "relu", [free], NOTHING)
        else:
            self.builder.named(name, "clip", [free], Clip(sums.low, sums.high))

    def _emit_plain(self, known: Known) -> None:
        assert known.let is not None, "parameters exist"
        value = known.let.value
        for each in atoms(value):
            self.real(each)
        for inner in bodies(value):
            for name in dict.fromkeys(names_in(inner)):
                if name in self._known:
                    self.real(Var(name))
        self.builder.lets.append(known.let)


def attributes_of(call: Call, kind: type[A]) -> A:
    """The attributes of an operator's call, of which the verifier knows the class."""
    assert isinstance(call.attributes, kind), "verified"
    return call.attributes


Rule: TypeAlias = Callable[[Walk, str, Call], bool]
"""What an operator, whose result is called so, makes of integers; False if it does nothing."""

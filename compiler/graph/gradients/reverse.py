"""Reverse mode in a body: from the gradient of its result to those of the names that it uses.

Gradients are written below the values of the body, which are in scope there, so that nothing is
computed twice but what stands within branches: the branch that was taken is computed again, in the
branch that computes its gradients. A call of a function becomes a call of its pullback
(`pullbacks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from tandem.compiler.errors import GradientError, GraphError
from tandem.compiler.graph.gradient_query import GradientQuery, gradient_type
from tandem.compiler.graph.gradients.cotangents import (
    Cotangent,
    DataTerm,
    Leaf,
    added,
    flat,
    is_zero,
    mapped,
    nested,
)
from tandem.compiler.graph.gradients.data_gradients import (
    gradient_form,
    gradient_of,
    gradient_types,
)
from tandem.compiler.graph.gradients.varied import may_vary
from tandem.compiler.graph.gradients.writer import GraphWriter, atom_of
from tandem.compiler.graph.nodes import (
    Apply,
    Arm,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Global,
    Gradient,
    If,
    Let,
    Match,
    Partial,
    Tuple,
    TupleGet,
    Var,
)
from tandem.compiler.graph.opspec import AnyOp, OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.terms import Term
from tandem.compiler.graph.types import DataType, TensorType, TupleType, Type
from tandem.compiler.graph.visit import (
    bodies,
    copied,
    map_bodies,
    names_defined,
    names_in,
)

PullbackOf: TypeAlias = Callable[[str, tuple[bool, ...], tuple[bool, ...]], Global]
"""The pullback of a function by name, for the parameters whose gradients are wanted and for the
floats of its result that have a gradient."""


@dataclass(frozen=True, slots=True)
class Reverse:
    """Reverse mode in a body of a function.

    Attributes
    ----------
    function
        The name of the function, for errors.
    writer
        Appends to the body's values.
    varied
        The names of the function whose values depend on what gradients are asked of.
    gradients
        The gradients of names so far.
    """

    function: str
    writer: GraphWriter
    pullback: PullbackOf
    varied: set[str]
    gradients: dict[str, Cotangent] = field(default_factory=dict)

    def body(self, body: Body, gradient: Cotangent) -> None:
        """Write the gradients of all names that the result of a body, whose values are in scope,
        depends on."""
        self._add(body.result, gradient)
        for let in reversed(body.lets):
            own = self.gradients.pop(let.name, None)
            if not is_zero(own):
                self.writer.stem = f"{let.name}_gradient"
                self._value(let, own)

    def terms_of(self, name: str, present: Sequence[bool] | None = None) -> list[Leaf | None]:
        """The gradients of a name's floats, in order: zeros where nothing depends on one that is
        `present`, or by default on any."""
        type_ = self.writer.types[name]
        found = flat(self.gradients.get(name), type_)
        needed = [True] * len(found) if present is None else present
        if all(term is not None or not need for term, need in zip(found, needed, strict=True)):
            return found
        floats = [each for each in self.writer.leaves(name) if gradient_types(each.type)]
        return [
            self.writer.zeros(own) if need and term is None else term
            for term, own, need in zip(found, floats, needed, strict=True)
        ]

    def _add(self, atom: Atom, gradient: Cotangent) -> None:
        if isinstance(atom, Var) and atom.name in self.varied and not is_zero(gradient):
            self.gradients[atom.name] = added(self.gradients.get(atom.name), gradient)

    def _value(self, let: Let, gradient: Cotangent) -> None:
        value = let.value
        match value:
            case Call(callee=OpSpec() as spec):
                self._operator(let, spec, value, gradient)
            case Call(callee=Global() as callee, args=args):
                self._call(let, callee, args, gradient)
            case Call(callee=callee):
                raise AssertionError(f"{callee} is called by name after inlining")
            case Tuple(items=items):
                assert isinstance(gradient, tuple), "of a tuple"
                for item, own in zip(items, gradient, strict=True):
                    self._add(item, own)
            case TupleGet(operand=operand, index=index):
                whole = self._type(operand)
                assert isinstance(whole, TupleType), "verified"
                places = range(len(whole.items))
                self._add(operand, tuple(gradient if at == index else None for at in places))
            case If() | Match():
                self._branches(let, gradient)
            case Construct(constructor=constructor, args=args):
                assert isinstance(gradient, DataTerm), "of a data type"
                self._construct(constructor, args, gradient)
            case Partial() | Gradient() | Fun() | Apply():
                raise AssertionError("programs are made first order before")
            case _:
                assert_never(value)

    def _type(self, atom: Atom) -> Type:
        return self.writer.types[atom.name] if isinstance(atom, Var) else atom.type

    def _wants(self, atom: Atom) -> bool:
        """Whether the gradient of an operand is wanted."""
        return isinstance(atom, Var) and atom.name in self.varied and may_vary(self._type(atom))

    def _operator(self, let: Let, spec: AnyOp, call: Call, gradient: Cotangent) -> None:
        results = [it for it in self.writer.leaves(let.name) if isinstance(it, Term)]
        query = GradientQuery(
            self.function,
            let.name,
            spec.name,
            tuple(spec.operands.name(position) for position in range(len(call.args))),
            tuple(map(self.writer.term, call.args)),
            tuple(results),
            _of_tensors(gradient if spec.several else (gradient,)),
            tuple(map(self._wants, call.args)),
        )
        if spec.gradient is None:
            query.fail(
                f"{spec.name} has no rule; write {let.name} by operators that have one, or keep "
                "its operands constant by stop_gradient"
            )
        try:
            found = spec.gradient(query, call.attributes)
        except GradientError:
            raise
        except GraphError as error:
            query.fail(str(error))
        for atom, wanted, own in zip(call.args, query.wanted, found, strict=True):
            if wanted and own is not None:
                type_ = self._type(atom)
                assert isinstance(type_, TensorType), "an operand"
                assert own.type == gradient_type(type_), f"{spec.name}: {own.type} of {type_}"
                self._add(atom, own)

    def _call(self, let: Let, callee: Global, args: Sequence[Atom], gradient: Cotangent) -> None:
        wanted = tuple(map(self._wants, args))
        parts = flat(gradient, self._type(Var(let.name)))
        pullback = self.pullback(callee.name, wanted, tuple(each is not None for each in parts))
        given = (*args, *(atom_of(each) for each in parts if each is not None))
        asked = [arg for arg, want in zip(args, wanted, strict=True) if want]
        types = [found for arg in asked for found in gradient_types(self._type(arg))]
        name = self.writer.let(Call(pullback, given), TupleType(tuple(types)))
        terms = self.writer.leaves(name)
        for arg in asked:
            count = len(gradient_types(self._type(arg)))
            self._add(arg, nested(terms[:count], self._type(arg)))
            terms = terms[count:]

    def _branches(self, let: Let, gradient: Cotangent) -> None:
        """The gradients of what the branches of an `if` or a `match` use: a value with the same
        branches, each a copy and its gradients."""
        (copy,) = self._copy(let).lets
        branches = bodies(copy.value)
        own = {*names_defined(Body((copy,), Var(copy.name)))}
        names = dict.fromkeys(name for branch in branches for name in names_in(branch))
        sides = [self._side(branch, gradient) for branch in branches]
        if isinstance(copy.value, Match):
            names.setdefault(copy.value.operand.name)
            for arm, side in zip(copy.value.arms, sides, strict=True):
                self._fields(copy.value.operand, arm, side)
        used = [name for name in names if name not in own and self._wants(Var(name))]
        present: dict[str, list[bool]] = {}
        for name in used:
            type_ = self.writer.types[name]
            found = [flat(side.gradients.get(name), type_) for side in sides]
            present[name] = [any(parts) for parts in zip(*found, strict=True)]
        if not any(map(any, present.values())):
            return
        types = [
            type_
            for name in used
            for type_, there in zip(
                gradient_types(self.writer.types[name]), present[name], strict=True
            )
            if there
        ]
        closed = iter([side.closed(present, types) for side in sides])
        value = map_bodies(copy.value, lambda _: next(closed))
        result = self.writer.let(value, TupleType(tuple(types)))
        terms = self.writer.leaves(result)
        for name in used:
            parts = [terms.pop(0) if there else None for there in present[name]]
            self._add(Var(name), nested(parts, self.writer.types[name]))

    def _copy(self, let: Let) -> Body:
        """A value with branches, all of whose names are new."""
        taken = self.writer.taken
        body = Body((let,), Var(let.name))
        copy = copied(body, {}, taken, unique_name(let.name, taken))
        for old, new in zip(names_defined(body), names_defined(copy), strict=True):
            self.writer.types[new] = self.writer.types[old]
            if old in self.varied:
                self.varied.add(new)
        return copy

    def _side(self, branch: Body, gradient: Cotangent) -> Reverse:
        """Reverse mode in a branch."""
        writer = self.writer.inner()
        writer.lets += branch.lets
        side = Reverse(self.function, writer, self.pullback, self.varied)
        side.body(branch, mapped(gradient, writer.here))
        return side

    def _fields(self, operand: Var, arm: Arm, side: Reverse) -> None:
        """Add the gradients of the fields that an arm names to that of the value itself."""
        type_ = self.writer.types[operand.name]
        assert isinstance(type_, DataType), "verified"
        gradient = gradient_of(type_)
        form = None
        if gradient is not None and arm.constructor is not None:
            form = gradient_form(gradient, arm.constructor)
        found = [side.gradients.get(name) for name in arm.fields]
        if gradient is None or form is None or all(map(is_zero, found)):
            return
        side.writer.stem = f"{operand.name}_gradient"
        terms = [term for name in arm.fields for term in side.terms_of(name)]
        args = [atom_of(term) for term in terms if term is not None]
        side._add(operand, side.writer.construct(gradient, form.name, args))

    def _construct(self, constructor: str, args: Sequence[Atom], gradient: DataTerm) -> None:
        """The gradients of the fields of a new value, from that of the value: zeros if that is."""
        form = gradient_form(gradient.type, constructor)
        wanted = [arg for arg in args if self._wants(arg)]
        if form is None or not wanted:
            return
        types = [found for arg in wanted for found in gradient_types(self._type(arg))]
        fields, chosen = [], []
        own = iter(form.fields)
        for arg in args:
            for _ in gradient_types(self._type(arg)):
                name = unique_name("field", self.writer.taken)
                self.writer.types[name] = next(own)
                fields.append(name)
                if arg in wanted:
                    chosen.append(name)
        kept = self.writer.inner()
        result = kept.tuple_of([Var(name) for name in chosen], types)
        there = Arm(form.name, tuple(fields), Body(tuple(kept.lets), result))
        zeros = self.writer.inner()
        atoms = [
            atom_of(zeros.zeros(leaf))
            for arg in wanted
            if isinstance(arg, Var)
            for leaf in zeros.leaves(arg.name)
            if gradient_types(leaf.type)
        ]
        result = zeros.tuple_of(atoms, types)
        zero = Arm(None, (), Body(tuple(zeros.lets), result))
        value = Match(Var(gradient.value), (there, zero))
        terms = self.writer.leaves(self.writer.let(value, TupleType(tuple(types))))
        for arg in wanted:
            count = len(gradient_types(self._type(arg)))
            self._add(arg, nested(terms[:count], self._type(arg)))
            terms = terms[count:]

    def closed(self, present: dict[str, list[bool]], types: Sequence[Type]) -> Body:
        """The body that results in a tuple of the gradients of names, as far as they are
        `present`."""
        found = [term for name, there in present.items() for term in self.terms_of(name, there)]
        terms = [atom_of(term) for term in found if term is not None]
        self.writer.stem = "gradients"
        result = self.writer.tuple_of(terms, types)
        return Body(tuple(self.writer.lets), result)


def _of_tensors(gradients: Cotangent) -> tuple[Term | None, ...]:
    """The gradients of an operator's results."""
    assert isinstance(gradients, tuple), "of several"
    return tuple(each if isinstance(each, Term) else None for each in gradients)

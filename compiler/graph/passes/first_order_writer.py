"""The bodies of functions in which values that are functions are replaced by what they hold, where
it is known which they may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import constructor_of
from tandem.compiler.graph.infer import result_of
from tandem.compiler.graph.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Construct,
    Function,
    Global,
    If,
    Let,
    Match,
    Partial,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.passes.function_flow import FlowCall, FunctionFlow
from tandem.compiler.graph.passes.function_sets import (
    AnyFunction,
    FunctionSet,
    Held,
    Member,
    any_of,
    represented,
    slots_of,
)
from tandem.compiler.graph.passes.slots import Lines, parts_in, unread, value_in
from tandem.compiler.graph.types import DataType, has_functions
from tandem.compiler.graph.visit import map_bodies, names_taken

CalleeOf: TypeAlias = Callable[[FlowCall, Held], Global]
"""The function to call, whose result is represented as what the second argument may be."""


_ForMember: TypeAlias = Callable[[Member, Sequence[Atom], Lines], Value]
"""The value for a function that a value is, and for the arguments that it holds."""


class FirstOrderWriter:
    """Writes the body of a function for what its parameters may be in a call."""

    def __init__(
        self, function: Function, call: FlowCall, flow: FunctionFlow, callee: CalleeOf
    ) -> None:
        self._flow = flow
        self._callee = callee
        self._body = flow.bodies[call]
        self._values = flow.values[call]
        self._taken = names_taken(function)

    def body(self, wanted: Held) -> Body:
        """The body, with a result that is represented as what `wanted` may be.

        Raises
        ------
        GraphError
            A symbolic extent is needed, or a value that is called is no function at all.
        """
        return self._rewritten(self._body, wanted)

    def _rewritten(self, body: Body, wanted: Held) -> Body:
        lines = Lines(self._taken)
        for let in body.lets:
            value, last = let.value, let is body.lets[-1] and body.result == Var(let.name)
            if last and isinstance(value, Call | Apply | If | Match):
                # Written as what is wanted, so that calls that end a function still do.
                lines.lets.append(self._let(let, wanted, lines))
                return Body(tuple(lines.lets), body.result)
            lines.lets.append(self._let(let, self._values[let.name], lines))
        result = self._converted(body.result, self._held(body.result), wanted, lines)
        return Body(tuple(lines.lets), result)

    def _held(self, atom: Atom) -> Held:
        return self._flow.atom(atom, self._values)

    def _given(self, atom: Atom) -> Held | Constant:
        return atom if isinstance(atom, Constant) else self._held(atom)

    def _let(self, let: Let, wanted: Held, lines: Lines) -> Let:
        type_ = None if let.type is not None and has_functions(let.type) else let.type
        return replace(let, value=self._value(let.value, wanted, lines), type=type_)

    def _value(self, value: Value, wanted: Held, lines: Lines) -> Value:
        match value:
            case Call(callee=Global(name=name), args=args):
                call = self._flow.call(name, tuple(map(self._held, args)))
                return Call(self._callee(call, wanted), self._passed(args, call.given, lines))
            case Apply(callee=callee, args=args):
                whole = self._held(callee)
                if isinstance(whole, AnyFunction):
                    return Apply(callee, self._passed(args, _any_params(whole, args), lines))
                given = tuple(map(self._held, args))

                def applied(member: Member, held: Sequence[Atom], inner: Lines) -> Value:
                    call = self._flow.call(member.function, (*member.given, *given))
                    last = self._passed(args, call.given[len(member.given) :], inner)
                    return Call(self._callee(call, wanted), (*held, *last))

                return by_member(callee, whole, applied, lines)
            case Partial(callee=Global(name=name), args=args):
                held_by_it = self._flow.member(name, tuple(map(self._given, args))).given
                return Tuple(self._passed(args, held_by_it, lines))
            case Partial(callee=Var() as callee, args=args):
                whole = self._held(callee)
                if isinstance(whole, AnyFunction):
                    return Partial(callee, self._passed(args, _any_params(whole, args), lines))
                more = tuple(map(self._given, args))

                def extended(member: Member, held: Sequence[Atom], inner: Lines) -> Value:
                    longer = self._flow.member(member.function, (*member.given, *more))
                    last = self._passed(args, longer.given[len(member.given) :], inner)
                    return self._packed(longer, (*held, *last), wanted, inner)

                return by_member(callee, whole, extended, lines)
            case Construct(constructor=name, args=args):
                assert isinstance(wanted, DataType), "of its type"
                form = constructor_of(wanted, name)
                assert form is not None, "verified"
                return replace(
                    value, args=self._passed(args, tuple(map(any_of, form.fields)), lines)
                )
            case If(condition=condition, then=then, otherwise=otherwise):
                bodies = (self._rewritten(each, wanted) for each in (then, otherwise))
                return If(condition, *bodies)
            case Match():
                return map_bodies(value, lambda inner: self._rewritten(inner, wanted))
            case _:
                return value

    def _passed(
        self, args: Sequence[Atom], wanted: Sequence[Held | Constant], lines: Lines
    ) -> tuple[Atom, ...]:
        """Arguments as what parameters may be: constants are part of the function where they are
        known."""
        return tuple(
            self._converted(atom, self._held(atom), held, lines)
            for atom, held in zip(args, wanted, strict=True)
            if not isinstance(held, Constant)
        )

    def _converted(self, atom: Atom, have: Held, wanted: Held, lines: Lines) -> Atom:
        """The atom, represented as what `wanted` may be, which is all that it may be or more."""
        if have == wanted or not isinstance(atom, Var):
            return atom
        if isinstance(have, tuple) and isinstance(wanted, tuple):
            items = [
                self._converted(lines.new("item", TupleGet(atom, at)), *both, lines)
                for at, both in enumerate(zip(have, wanted, strict=True))
            ]
            return lines.new("items", Tuple(tuple(items)))

        def again(member: Member, held: Sequence[Atom], inner: Lines) -> Value:
            return self._packed(member, held, wanted, inner)

        return lines.new("function", by_member(atom, have, again, lines))

    def _packed(self, member: Member, held: Sequence[Atom], wanted: Held, lines: Lines) -> Value:
        """A function with the arguments that it holds, as a value that may be it."""
        if isinstance(wanted, AnyFunction):
            call = self._flow.any_call(member)
            callee = self._callee(call, any_of(result_of(self._flow.named[member.function])))
            known = [it for it in call.given[: len(member.given)] if not isinstance(it, Constant)]
            args = [
                self._converted(*pair, lines)
                for pair in zip(held, member.captured, known, strict=True)
            ]
            return Partial(callee, tuple(args))
        assert isinstance(wanted, FunctionSet), "of a function"
        if len(wanted.members) == 1:
            return Tuple(tuple(held))
        parts: list[Atom] = []
        for atom, given in zip(held, member.captured, strict=True):
            parts += parts_in(atom, represented(given), lines)
        slots = dict(zip(slots_of(member, wanted), parts, strict=True))
        tag = Constant(np.array(wanted.members.index(member), np.int32))
        items = [
            slots[at] if at in slots else unread(type_, lines)
            for at, type_ in enumerate(wanted.slots)
        ]
        return Tuple((tag, *items))


def _any_params(function: AnyFunction, args: Sequence[Atom]) -> tuple[Held, ...]:
    return tuple(map(any_of, function.type.params[: len(args)]))


def by_member(function: Var, whole: Held, make: _ForMember, lines: Lines) -> Value:
    """The value that `make` gives for the function that a value is: of several, chosen at run
    time."""
    assert isinstance(whole, FunctionSet), "verified"
    match whole.members:
        case ():
            raise GraphError(f"{function.name} is no function at all: what gives it never ends")
        case (member,):
            held = [lines.new("held", TupleGet(function, at)) for at in range(len(member.captured))]
            return make(member, held, lines)
        case members:
            tag = lines.new("which", TupleGet(function, 0))

            def case_of(member: Member, inner: Lines) -> Value:
                slots = iter(slots_of(member, whole))
                held = [
                    value_in(function, slots, represented(given), inner)
                    for given in member.captured
                ]
                return make(member, held, inner)

            return _branch(tag, members, 0, case_of, lines)


def _branch(
    tag: Var,
    members: Sequence[Member],
    first: int,
    case_of: Callable[[Member, Lines], Value],
    lines: Lines,
) -> Value:
    """The case of the member of number `tag`, which is `first` for the first: found by halves."""
    if len(members) == 1:
        return case_of(members[0], lines)
    half = len(members) // 2
    limit = Constant(np.array(first + half, np.int32))
    below = lines.new("below", Call(OPERATORS["less"], (tag, limit)))
    sides = []
    for start, part in ((first, members[:half]), (first + half, members[half:])):
        inner = lines.inner()
        result = inner.new("case", _branch(tag, part, start, case_of, inner))
        sides.append(Body(tuple(inner.lets), result))
    return If(below, *sides)

"""The functions that each value of a program may be: control-flow analysis, once for each
combination of functions with which a function is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, TypeAlias, assert_never

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer, result_of
from tandem.compiler.graph.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Function,
    Global,
    Gradient,
    If,
    Let,
    Match,
    Partial,
    Tuple,
    TupleGet,
)
from tandem.compiler.graph.passes.function_sets import (
    AnyFunction,
    EndlessError,
    FunctionSet,
    Held,
    Member,
    any_of,
    function_set,
    given_key,
    held_by,
    joined,
    settled,
)
from tandem.compiler.graph.visit import substitute

MAX_COMBINATIONS: Final = 100
"""The maximum number of copies of a function for different functions that it takes."""

MAX_RUNS: Final = 200
"""How often a function's result is found anew before it only ever grows."""

Given: TypeAlias = tuple[Held | Constant, ...]
"""What a function's parameters may be; a constant is known."""


@dataclass(frozen=True, slots=True)
class FlowCall:
    """A function, and what its parameters may be in some of its calls.

    Attributes
    ----------
    key
        A text that is equal for equal calls only.
    """

    function: str
    given: Given = field(compare=False)
    key: str = field(init=False)

    def __post_init__(self) -> None:
        key = f"{self.function}({', '.join(map(given_key, self.given))})"
        object.__setattr__(self, "key", key)


@dataclass
class FunctionFlow:
    """What the values of a program without written functions may be, in each of its functions.

    Attributes
    ----------
    named
        The functions of the program.
    general
        The functions of which copies would have no end: functions that they take or hold may be
        any.
    bodies
        The body of the function of each call, with the known parameters in place.
    values
        What each value may be, by call and name.
    results
        What the result of each call may be.
    """

    named: Mapping[str, Function]
    general: frozenset[str] = frozenset()
    bodies: dict[FlowCall, Body] = field(default_factory=dict)
    values: dict[FlowCall, dict[str, Held]] = field(default_factory=dict)
    results: dict[FlowCall, Held] = field(default_factory=dict)
    _users: dict[FlowCall, dict[FlowCall, None]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def reach(self, call: FlowCall) -> None:
        """Find what a call reaches: until no result changes, from no function at all upwards.

        Raises
        ------
        EndlessError
            A function is called with ever more functions, or holds functions without end.
        """
        changed = {call: None}
        runs: Counter[FlowCall] = Counter()
        while changed:
            # Callees before callers, so that fewer results are found with less than is so.
            stack = [next(iter(changed))]
            while stack:
                current = stack[-1]
                changed.pop(current, None)
                self.results.setdefault(current, self._nothing(current))
                try:
                    found = self._function(current)
                except _UnknownResult as unknown:
                    stack.append(unknown.call)
                    continue
                stack.pop()
                runs[current] += 1
                if runs[current] > MAX_RUNS:
                    type_ = result_of(self.named[current.function])
                    found = settled(joined(self.results[current], found), type_)
                if found != self.results[current]:
                    self.results[current] = found
                    changed |= self._users.get(current, {})

    def _nothing(self, call: FlowCall) -> Held:
        """What the result of a call may be before anything is known of it."""
        return held_by(result_of(self.named[call.function]))

    def call(self, function: str, given: Given) -> FlowCall:
        """The call of a function with what its parameters may be."""
        return FlowCall(function, self._given(function, given))

    def any_call(self, member: Member) -> FlowCall:
        """The call of a function of a set as any function: of its arguments only constants are
        known."""
        params = self.named[member.function].params
        known = {at: it for at, it in enumerate(member.given) if isinstance(it, Constant)}
        given = (known.get(at, any_of(param.type)) for at, param in enumerate(params))
        return self.call(member.function, tuple(given))

    def member(self, function: str, given: Given) -> Member:
        """A function with its first arguments."""
        return Member(function, self._given(function, given))

    def _given(self, function: str, given: Given) -> Given:
        if function not in self.general:
            return given
        return tuple(any_of(param.type) for param in self.named[function].params[: len(given)])

    def atom(self, atom: Atom, values: Mapping[str, Held]) -> Held:
        """What an operand may be."""
        return atom.type if isinstance(atom, Constant) else values[atom.name]

    def _function(self, call: FlowCall) -> Held:
        function = self.named[call.function]
        params = [param.name for param in function.params]
        if call not in self.bodies:
            self._count(call)
            known = {
                name: given
                for name, given in zip(params, call.given, strict=True)
                if isinstance(given, Constant)
            }
            self.bodies[call] = substitute(function.body, known)
        values: dict[str, Held] = {
            name: given
            for name, given in zip(params, call.given, strict=True)
            if not isinstance(given, Constant)
        }
        found = self._body(call, self.bodies[call], values)
        self.values[call] = values
        return found

    def _count(self, call: FlowCall) -> None:
        count = self._counts[call.function] = self._counts.get(call.function, 0) + 1
        if count > MAX_COMBINATIONS:
            raise EndlessError(
                f"function {call.function} is called with more than {MAX_COMBINATIONS} "
                "combinations of functions: the functions of its recursion have no end",
                frozenset({call.function}),
            )

    def _body(self, call: FlowCall, body: Body, values: dict[str, Held]) -> Held:
        types = infer(self.named[call.function])
        for let in body.lets:
            found = self._value(call, let, values)
            values[let.name] = settled(found, types[let.name])
        return self.atom(body.result, values)

    def _value(self, call: FlowCall, let: Let, values: dict[str, Held]) -> Held:
        value = let.value
        match value:
            case Call(callee=Global(name=name), args=args):
                given = tuple(self.atom(each, values) for each in args)
                return self._result(call, self.call(name, given))
            case Call() | Construct():
                return held_by(infer(self.named[call.function])[let.name])
            case Apply(callee=callee, args=args):
                operands = [self.atom(each, values) for each in args]
                applied = values[callee.name]
                if isinstance(applied, AnyFunction):
                    return any_of(applied.type.result)
                found = held_by(infer(self.named[call.function])[let.name])
                for member in _members(applied):
                    called = self.call(member.function, (*member.given, *operands))
                    found = joined(found, self._result(call, called))
                return found
            case Partial(callee=callee, args=args):
                more = tuple(
                    atom if isinstance(atom, Constant) else values[atom.name] for atom in args
                )
                if isinstance(callee, Global):
                    return FunctionSet((self.member(callee.name, more),))
                if isinstance(values[callee.name], AnyFunction):
                    return any_of(infer(self.named[call.function])[let.name])
                return function_set(
                    self.member(member.function, (*member.given, *more))
                    for member in _members(values[callee.name])
                )
            case Tuple(items=items):
                return tuple(self.atom(each, values) for each in items)
            case TupleGet(operand=operand, index=index):
                whole = values[operand.name]
                assert isinstance(whole, tuple), "verified"
                return whole[index]
            case If(then=then, otherwise=otherwise):
                return joined(self._body(call, then, values), self._body(call, otherwise, values))
            case Match(arms=arms):
                types = infer(self.named[call.function])
                results = []
                for arm in arms:
                    values |= {name: any_of(types[name]) for name in arm.fields}
                    results.append(self._body(call, arm.body, values))
                return reduce(joined, results)
            case Fun() | Gradient():
                raise AssertionError("lifted before, and written out before")
            case _:
                assert_never(value)

    def _result(self, user: FlowCall, call: FlowCall) -> Held:
        """What is known of the result of a call; its user runs again once more is."""
        self._users.setdefault(call, {})[user] = None
        if call not in self.results:
            raise _UnknownResult(call)
        return self.results[call]


class _UnknownResult(Exception):
    """Nothing is known yet of the result of a call."""

    def __init__(self, call: FlowCall) -> None:
        super().__init__(call.key)
        self.call = call


def _members(held: Held) -> tuple[Member, ...]:
    assert isinstance(held, FunctionSet), "verified"
    return held.members

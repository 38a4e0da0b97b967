"""Defunctionalisation: programs without functions that are values."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import data_types_in, holds_functions
from tandem.compiler.graph.evaluate import Interpreter, check_ports
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Function, Global, Param
from tandem.compiler.graph.passes.bind_symbols import BindSymbols
from tandem.compiler.graph.passes.first_order_writer import FirstOrderWriter
from tandem.compiler.graph.passes.function_flow import FlowCall, FunctionFlow
from tandem.compiler.graph.passes.function_sets import (
    EndlessError,
    Held,
    given_key,
    held_by,
    represented,
)
from tandem.compiler.graph.passes.functions_as_data import FunctionsAsData
from tandem.compiler.graph.passes.lift_functions import LiftFunctions
from tandem.compiler.graph.passes.named_functions import by_name
from tandem.compiler.graph.passes.unroll import Unroll
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import FunctionType, has_functions, symbols_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import declarations_of, functions, makes_functions


@dataclass(frozen=True, slots=True)
class Defunctionalise:
    """Replaces functions that are values by what they hold, and their calls by calls by name.

    A function that takes functions is copied for each combination that it is called with, so that a
    callee that is known is called directly (specialisation; Brandon et al., PLDI'23). A value that
    one of several functions may be is a number and what that function holds; a branch on the number
    calls the function (Reynolds, 1972)::

        f = if c:                                f = if c:
          a = partial @add(x)                      a = (0, x)
          yield a                                  yield a
        else:                                    else:
          b = partial @scale(x)          ->        b = (1, x)
          yield b                                  yield b
        y = call f(z)                            first = less(f[0], 1)
                                                 y = if first:
                                                   u = @add(f[1], z)
                                                   yield u
                                                 else:
                                                   v = @scale(f[1], z)
                                                   yield v

    Calls that end a function still do. Functions that hold functions without a known end, as a
    recursion makes them that composes functions as often as an input says, and those in fields of
    data types become values of data types themselves (`FunctionsAsData`).
    """

    name: str = "defunctionalise"

    def apply(self, function: Function) -> Function:
        """The function without functions that are values; itself if it has none.

        Raises
        ------
        GraphError
            The program takes or gives functions; what is called is no function at all; an extent
            that is needed is symbolic.
        """
        verify(function)
        if not any(map(_has_function_values, functions(function))) and not _holds_them(function):
            return function
        check_ports(function)
        program = by_name(LiftFunctions().apply(function))
        if any(map(_has_symbols, functions(program))):
            # Afterwards all symbols are those of the program's own function.
            program = BindSymbols(()).apply(program)
        # Loops that compose functions as often as is known make no functions without end.
        program = Unroll(Interpreter()).apply(program)
        known = _where_known(program)
        return FunctionsAsData().apply(known)


def _where_known(program: Function) -> Function:
    """The program without values that are one of some known functions: with copies for what is
    known, but for those functions of which this makes copies without end."""
    general: frozenset[str] = frozenset()
    while True:
        try:
            return _Defunctionaliser(program, general).program()
        except EndlessError as error:
            if error.functions <= general:
                raise
            general |= error.functions


def _has_function_values(function: Function) -> bool:
    if makes_functions(function.body) or (function.result and has_functions(function.result)):
        return True
    return any(has_functions(param.type) for param in function.params)


def _holds_them(program: Function) -> bool:
    """Whether a value of a data type in the program might hold functions."""
    if not declarations_of(program).types:
        return False
    return any(
        holds_functions(data)
        for function in functions(program)
        for type_ in infer(function).values()
        for data in data_types_in(type_)
    )


def _has_symbols(function: Function) -> bool:
    return any(map(symbols_of, infer(function).values()))


@dataclass(frozen=True, slots=True)
class _Copy:
    """A function for what its parameters may be, whose result is represented as what `result`, a
    key, may be."""

    call: FlowCall
    result: str


class _Defunctionaliser:
    """The copies of a program's functions."""

    def __init__(self, program: Function, general: frozenset[str]) -> None:
        verify(program)
        self._program = program
        self._named = program.named
        self._flow = FunctionFlow(self._named, general)
        self._taken = {each.name for each in functions(program)}
        self._used: set[str] = set()
        self._names: dict[_Copy, str] = {}
        self._waiting: list[tuple[FlowCall, Held, str]] = []

    def program(self) -> Function:
        """The program of copies."""
        program = self._program
        entry = FlowCall(program.name, tuple(held_by(param.type) for param in program.params))
        self._flow.reach(entry)
        self._callee(entry, self._flow.results[entry])
        made: dict[str, list[Function]] = {name: [] for name in self._named}
        while self._waiting:
            call, wanted, name = self._waiting.pop(0)
            made[call.function].append(self._copy(call, wanted, name))
        whole, *more = made[program.name]
        made[program.name] = more
        definitions = tuple(each for group in made.values() for each in group)
        return replace(whole, result=program.result, definitions=definitions)

    def _callee(self, call: FlowCall, wanted: Held) -> Global:
        """The copy of a function for a call whose result has to be represented as `wanted`."""
        if call not in self._flow.values:
            # Of a function that becomes any of its type.
            self._flow.reach(call)
        copy = _Copy(call, given_key(wanted))
        if copy not in self._names:
            name = call.function
            if name in self._used:
                name = unique_name(name, self._taken)
            self._used.add(name)
            self._names[copy] = name
            self._waiting.append((call, wanted, name))
        params = tuple(represented(each) for each in call.given if not isinstance(each, Constant))
        return Global(self._names[copy], FunctionType(params, represented(wanted)))

    def _copy(self, call: FlowCall, wanted: Held, name: str) -> Function:
        function = self._named[call.function]
        params = tuple(
            Param(param.name, represented(given))
            for param, given in zip(function.params, call.given, strict=True)
            if not isinstance(given, Constant)
        )
        writer = FirstOrderWriter(function, call, self._flow, self._callee)
        try:
            body = writer.body(wanted)
        except EndlessError:
            raise
        except GraphError as error:
            raise GraphError(f"function {function.name}: {error}") from None
        return Function(name, params, body, represented(wanted))

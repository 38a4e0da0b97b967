"""The pass that replaces symbolic extents by numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.binding import bind
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.extents import Extent, replaced
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Atom,
    Call,
    Construct,
    Fun,
    Function,
    Global,
    Let,
    Param,
    Partial,
)
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import FunctionType, Type, specialised, symbols_of
from tandem.compiler.graph.visit import functions, rewrite_lets

MAX_SPECIALISED: Final = 100
"""The maximum number of copies of a function for different sizes."""


@dataclass(frozen=True, slots=True)
class BindSymbols:
    """Replaces symbols by numbers, and declares all types.

    Callees are specialised, once for each combination of argument sizes.

    ::

        func @f(x: float32[N, 3]): ...    ->    func @f(x: float32[4, 3]): ...

    Attributes
    ----------
    sizes
        Pairs of symbol and number; numbers are 1 or more.
    """

    sizes: tuple[tuple[str, int], ...]
    name: str = "bind-symbols"

    def apply(self, function: Function) -> Function:
        """The function for these sizes.

        Raises
        ------
        GraphError
            A number is under 1, or no parameter has the symbol.
        """
        known = frozenset[str]().union(*(symbols_of(each.type) for each in function.params))
        for symbol, number in self.sizes:
            if number < 1:
                raise GraphError(f"{symbol} is {number}: 1 or more is allowed")
            if symbol not in known:
                raise GraphError(
                    f"function {function.name} has no symbol {symbol}: "
                    f"{', '.join(sorted(known)) or 'it has none'}"
                )
        return _Binder(function).program(dict(self.sizes))


def _type(atom: Atom, types: Mapping[str, Type]) -> Type:
    return atom.type if isinstance(atom, Constant) else types[atom.name]


def _bound_params(params: Sequence[Param], sizes: Mapping[str, Extent]) -> tuple[Param, ...]:
    return tuple(Param(each.name, specialised(each.type, sizes)) for each in params)


_Sizes: TypeAlias = frozenset[tuple[str, Extent]]


class _Binder:
    """The functions of a program, specialised to the sizes of their calls."""

    def __init__(self, program: Function) -> None:
        self._program = program
        self._taken = {each.name for each in functions(program)}
        self._used: set[str] = set()
        self._found: dict[tuple[str, _Sizes], Function] = {}
        self._names: dict[tuple[str, _Sizes], str] = {}
        """The names of the specialised functions that are called by name."""
        self._waiting: list[tuple[str, _Sizes]] = []

    def program(self, sizes: Mapping[str, Extent]) -> Function:
        """The program for these sizes."""
        program = self._program
        key = program.name, frozenset(sizes.items())
        self._names[key] = program.name
        self._used.add(program.name)
        bare = self._bound(replace(program, definitions=()), sizes, program.name)
        made: dict[str, list[Function]] = {name: [] for name in program.named}
        while self._waiting:
            name, own = self._waiting.pop(0)
            definition = replace(program.named[name], definitions=())
            made[name].append(self._bound(definition, dict(own), self._names[name, own]))
            if len(made[name]) > MAX_SPECIALISED:
                raise GraphError(
                    f"function {name} is called with more than {MAX_SPECIALISED} combinations of "
                    "sizes: the sizes of its recursion have no end"
                )
        definitions = (each for group in made.values() for each in group)
        return replace(bare, definitions=tuple(definitions))

    def _function(self, function: Function, sizes: Mapping[str, Extent]) -> Function:
        """The function that is called as a value for these sizes."""
        key = (function.digest, frozenset(sizes.items()))
        if key not in self._found:
            self._found[key] = self._bound(function, sizes, self._name(function.name))
        return self._found[key]

    def _name(self, name: str) -> str:
        """The name of a further specialised function."""
        if name in self._used:
            name = unique_name(name, self._taken)
        self._used.add(name)
        return name

    def _bound(self, function: Function, sizes: Mapping[str, Extent], name: str) -> Function:
        types = infer(function)

        def change(let: Let) -> tuple[Let, ...]:
            value = let.value
            if isinstance(value, Call) and not isinstance(value.callee, OpSpec):
                args = [_type(each, types) for each in value.args]
                value = replace(value, callee=self._callee(value.callee, args, sizes))
            elif isinstance(value, Partial) and isinstance(value.callee, Global):
                given = [_type(each, types) for each in value.args]
                value = replace(
                    value, callee=self._taken_callee(value.callee, given, types[let.name], sizes)
                )
            elif isinstance(value, Fun):
                value = replace(
                    value,
                    params=_bound_params(value.params, sizes),
                    result=value.result and specialised(value.result, sizes),
                )
            elif isinstance(value, Construct):
                own = (specialised(each, sizes) for each in value.arguments)
                value = replace(value, arguments=tuple(own))
            return (replace(let, value=value, type=specialised(types[let.name], sizes)),)

        body = rewrite_lets(function.body, change)
        params = _bound_params(function.params, sizes)
        result = None if function.result is None else specialised(function.result, sizes)
        return replace(function, name=name, params=params, body=body, result=result)

    def _callee(
        self, callee: Function | Global, args: Sequence[Type], sizes: Mapping[str, Extent]
    ) -> Function | Global:
        if isinstance(callee, Global):
            params: Sequence[Type] = callee.type.params
        else:
            params = [param.type for param in callee.params]
        bound = bind(params, args)
        assert bound is not None, "verified"
        own = {name: replaced(extent, sizes) for name, extent in bound.items()}
        if not isinstance(callee, Global):
            return self._function(callee, own)
        return self._global(callee, own)

    def _taken_callee(
        self, callee: Global, given: Sequence[Type], rest: Type, sizes: Mapping[str, Extent]
    ) -> Global:
        """The function that becomes a value; `rest` is its type once arguments are given."""
        assert isinstance(rest, FunctionType), "inferred"
        bound = bind((callee.type,), (FunctionType((*given, *rest.params), rest.result),))
        assert bound is not None, "verified"
        return self._global(
            callee, {name: replaced(extent, sizes) for name, extent in bound.items()}
        )

    def _global(self, callee: Global, own: Mapping[str, Extent]) -> Global:
        key = callee.name, frozenset(own.items())
        if key not in self._names:
            self._names[key] = self._name(callee.name)
            self._waiting.append(key)
        type_ = FunctionType(
            tuple(specialised(each, own) for each in callee.type.params),
            specialised(callee.type.result, own),
        )
        return Global(self._names[key], type_)

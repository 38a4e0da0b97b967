"""The pass that replaces symbolic extents by numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compiler.errors import GraphError
from compiler.graph.binding import bind
from compiler.graph.constant import Constant
from compiler.graph.extents import Extent, replaced
from compiler.graph.infer import infer
from compiler.graph.nodes import Call, Function, Let, Param
from compiler.graph.syntax import unique_name
from compiler.graph.types import Type, specialised, symbols_of
from compiler.graph.visit import functions, rewrite_lets


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
        return _Binder({each.name for each in functions(function)}).function(
            function, dict(self.sizes)
        )


class _Binder:
    """The functions of a program, specialised to the sizes of their calls."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._used: set[str] = set()
        self._found: dict[tuple[str, frozenset[tuple[str, Extent]]], Function] = {}

    def function(self, function: Function, sizes: Mapping[str, Extent]) -> Function:
        """The function for these sizes."""
        key = (function.digest, frozenset(sizes.items()))
        if key not in self._found:
            self._found[key] = self._bound(function, sizes)
        return self._found[key]

    def _bound(self, function: Function, sizes: Mapping[str, Extent]) -> Function:
        types = infer(function)

        def change(let: Let) -> tuple[Let, ...]:
            value = let.value
            if isinstance(value, Call) and isinstance(value.callee, Function):
                value = replace(value, callee=self._callee(value, value.callee, types, sizes))
            return (replace(let, value=value, type=specialised(types[let.name], sizes)),)

        name = function.name
        if name in self._used:
            name = unique_name(name, self._taken)
        self._used.add(name)
        params = tuple(Param(each.name, specialised(each.type, sizes)) for each in function.params)
        result = None if function.result is None else specialised(function.result, sizes)
        body = rewrite_lets(function.body, change)
        return replace(function, name=name, params=params, body=body, result=result)

    def _callee(
        self, call: Call, callee: Function, types: Mapping[str, Type], sizes: Mapping[str, Extent]
    ) -> Function:
        args = [atom.type if isinstance(atom, Constant) else types[atom.name] for atom in call.args]
        bound = bind([param.type for param in callee.params], args)
        assert bound is not None, "verified"
        return self.function(
            callee, {name: replaced(extent, sizes) for name, extent in bound.items()}
        )

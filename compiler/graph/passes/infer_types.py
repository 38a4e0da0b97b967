"""The pass that declares the types of all values."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.graph.infer import infer, result_of
from tandem.compiler.graph.nodes import Body, Call, Function, Let
from tandem.compiler.graph.visit import functions, map_functions, rewrite_lets


@dataclass(frozen=True, slots=True)
class InferTypes:
    """Declares the type of every value and result, including those of callees.

    ::

        y = f(x)    ->    y: float32[N, 4] = f(x)
    """

    name: str = "infer-types"

    def apply(self, function: Function) -> Function:
        """The function with all types declared."""
        infer(function)
        typed: dict[str, Function] = {}

        def change(one: Function) -> Function:
            for callee in functions(one):
                if callee.digest not in typed:
                    typed[callee.digest] = _typed(callee, typed)
            return typed[one.digest]

        return map_functions(function, change)


def _typed(function: Function, callees: dict[str, Function]) -> Function:
    types = infer(function)

    def change(let: Let) -> tuple[Let, ...]:
        value = let.value
        if isinstance(value, Call) and isinstance(value.callee, Function):
            value = replace(value, callee=callees[value.callee.digest])
        return (replace(let, value=value, type=types[let.name]),)

    body: Body = rewrite_lets(function.body, change)
    return replace(function, body=body, result=result_of(function))

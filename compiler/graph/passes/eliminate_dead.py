"""Dead code elimination."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.graph.nodes import Body, Function, Let, Var
from compiler.graph.visit import map_bodies, names_of


@dataclass(frozen=True, slots=True)
class EliminateDead:
    """Removes values that the result does not depend on. Parameters are kept."""

    name: str = "eliminate-dead"

    def apply(self, function: Function) -> Function:
        """The function without unused values."""
        return replace(function, body=_needed(function.body))


def _needed(body: Body) -> Body:
    needed = {body.result.name} if isinstance(body.result, Var) else set()
    kept: list[Let] = []
    for let in reversed(body.lets):
        if let.name in needed:
            value = map_bodies(let.value, _needed)
            needed |= names_of(value)
            kept.append(replace(let, value=value))
    return Body(tuple(reversed(kept)), body.result)

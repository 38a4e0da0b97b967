"""Dead code elimination."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.graph.nodes import Body, Function, Let, Var
from tandem.compiler.graph.visit import called_by_name, map_bodies, map_functions, names_of


@dataclass(frozen=True, slots=True)
class EliminateDead:
    """Removes values that the result does not depend on, and functions that nothing calls.

    Parameters are kept.
    """

    name: str = "eliminate-dead"

    def apply(self, function: Function) -> Function:
        """The function without unused values."""
        changed = map_functions(function, lambda one: replace(one, body=_needed(one.body)))
        called = called_by_name(changed)
        definitions = tuple(each for each in changed.definitions if each.name in called)
        return (
            changed
            if definitions == changed.definitions
            else replace(changed, definitions=definitions)
        )


def _needed(body: Body) -> Body:
    needed = {body.result.name} if isinstance(body.result, Var) else set()
    kept: list[Let] = []
    for let in reversed(body.lets):
        if let.name in needed:
            value = map_bodies(let.value, _needed)
            needed |= names_of(value)
            kept.append(replace(let, value=value))
    return Body(tuple(reversed(kept)), body.result)

"""Values that nobody uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from compiler.graph.nodes import Body, Function, Let, Var
from compiler.graph.visit import atoms, bodies, map_bodies, names_in

__all__ = ["EliminateDead"]


@dataclass(frozen=True, slots=True)
class EliminateDead:
    """Leaves out values that the result does not need. Nothing has effects, so that nobody notices.

    Parameters stay: they are what callers give.
    """

    name: str = "eliminate-dead"

    def apply(self, function: Function) -> Function:
        """The function without them."""
        return replace(function, body=_needed(function.body))


def _needed(body: Body) -> Body:
    needed: set[str] = set()
    _add(needed, [body.result])
    kept: list[Let] = []
    for let in reversed(body.lets):
        if let.name not in needed:
            continue
        value = map_bodies(let.value, _needed)
        _add(needed, atoms(value))
        for inner in bodies(value):
            needed.update(names_in(inner))
        kept.append(replace(let, value=value))
    return Body(tuple(reversed(kept)), body.result)


def _add(needed: set[str], used: Iterable[object]) -> None:
    needed.update(each.name for each in used if isinstance(each, Var))

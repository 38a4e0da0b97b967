"""Rules that operators share for extents that are no numbers.

Most operators leave most axes alone: whatever a tensor's extent there, it goes through to the
result. With a number put in its place the operator itself says what else the result is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

from compiler.graph.attributes import Attributes
from compiler.graph.extents import Dim, Extent
from compiler.graph.opspec import Ask
from compiler.graph.types import TensorType
from compiler.operators.broadcast import broadcast_extents

__all__ = ["axis_of", "broadcast", "carried", "leading", "same_axes", "stood_in"]

Free = Mapping[tuple[int, int], int | None]
"""Operand and axis: the result's axis of the same extent, or None where it is gone."""


def carried(ask: Ask, free: Free) -> tuple[TensorType, ...]:
    """The result, to which extents of `free` axes go through. Other symbolic ones are refused."""
    found = ask.answer(stood_in(ask, free))
    results = []
    for each in found:
        shape: list[Extent] = list(each.shape)
        for (operand, axis), place in free.items():
            extent = ask.types[operand].shape[axis]
            if place is not None and isinstance(extent, Dim):
                shape[place] = extent
        results.append(TensorType(tuple(shape), each.dtype))
    return tuple(results)


def leading(count: int) -> Callable[[Ask, Attributes], tuple[TensorType, ...]]:
    """The rule of operators that leave the first axes of their first operand alone."""
    free = {(0, axis): axis for axis in range(count)}
    return lambda ask, _: carried(ask, free)


def stood_in(ask: Ask, free: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The operands' shapes with 1 for what is symbolic, which only `free` axes may be."""
    allowed = set(free)
    shapes = []
    for operand, type_ in enumerate(ask.types):
        shape = []
        for axis, extent in enumerate(type_.shape):
            if isinstance(extent, Dim) and (operand, axis) not in allowed:
                ask.fail(f"axis {axis} of {ask.show(operand)} has to be a number, not {extent}")
            shape.append(1 if isinstance(extent, Dim) else extent)
        shapes.append(shape)
    return shapes


def same_axes(ask: Ask, *fixed: int) -> Free:
    """Every axis of the first operand stays where it is, but for `fixed` ones."""
    rank = ask.data.rank
    return {(0, axis): axis for axis in range(rank) if axis not in {each % rank for each in fixed}}


def axis_of(ask: Ask, axis: int, extra: int = 0) -> int:
    """An axis of the first operand, counted from 0; a negative one counts from the end. `extra`
    more are allowed."""
    rank = ask.data.rank + extra
    if not -rank <= axis < rank:
        ask.fail(f"{ask.show(0)} has no axis {axis}: {-rank}..{rank - 1}")
    return axis % rank


def broadcast(ask: Ask, shapes: Sequence[Sequence[Extent]]) -> tuple[Extent, ...]:
    """The shape that these have together, by NumPy's rule."""

    def refuse(axis: int, extents: Sequence[Extent]) -> NoReturn:
        found = " and ".join(map(str, extents))
        ask.fail(f"{ask.show_all()} do not broadcast: axis {axis} has {found}")

    return broadcast_extents(shapes, refuse)

"""Type rules for symbolic extents, shared by operators.

Along most axes the result has the extent of an operand. The operator's definition, applied to
operands with 1 for the symbolic extents, gives the rest of the result's type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn, TypeAlias

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.extents import Dim, Extent
from tandem.compiler.graph.opspec import TypeQuery
from tandem.compiler.graph.types import TensorType
from tandem.compiler.operators.broadcast import broadcast_extents

AxisMap: TypeAlias = dict[tuple[int, int], int | None]
"""Maps (operand, axis) to the result's axis of the same extent, or None if there is none. Extents
along axes in the map may be symbolic."""


def passed_through(query: TypeQuery, axis_map: AxisMap) -> tuple[TensorType, ...]:
    """The result's types, with the operands' extents along mapped axes.

    A symbolic extent along an axis that is not in `axis_map` is an error.
    """
    results = []
    for computed in query.infer(substituted_shapes(query, axis_map)):
        shape: list[Extent] = list(computed.shape)
        for (operand, axis), result_axis in axis_map.items():
            extent = query.types[operand].shape[axis]
            if result_axis is not None and isinstance(extent, Dim):
                shape[result_axis] = extent
        results.append(TensorType(tuple(shape), computed.dtype))
    return tuple(results)


def leading(count: int) -> Callable[[TypeQuery, Attributes], tuple[TensorType, ...]]:
    """The type rule of operators whose first `count` axes have the first operand's extents."""
    axis_map: AxisMap = {(0, axis): axis for axis in range(count)}
    return lambda query, _: passed_through(query, axis_map)


def substituted_shapes(query: TypeQuery, axes: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The operands' shapes with 1 for symbolic extents, allowed only in `axes` (operand, axis)."""
    allowed = set(axes)
    shapes = []
    for operand, type_ in enumerate(query.types):
        shape = []
        for axis, extent in enumerate(type_.shape):
            if isinstance(extent, Dim) and (operand, axis) not in allowed:
                query.fail(f"axis {axis} of {query.show(operand)} has to be a number, not {extent}")
            shape.append(1 if isinstance(extent, Dim) else extent)
        shapes.append(shape)
    return shapes


def same_axes(query: TypeQuery, *fixed: int) -> AxisMap:
    """The map of the first operand's axes to themselves, without the axes `fixed`."""
    rank = query.data.rank
    return {(0, axis): axis for axis in range(rank) if axis not in {each % rank for each in fixed}}


def axis_of(query: TypeQuery, axis: int, extra: int = 0) -> int:
    """An axis of the first operand, counted from 0; a negative one counts from the end.

    `extra` is added to the operand's rank.
    """
    rank = query.data.rank + extra
    if not -rank <= axis < rank:
        query.fail(f"{query.show(0)} has no axis {axis}: {-rank}..{rank - 1}")
    return axis % rank


def broadcast(query: TypeQuery, shapes: Sequence[Sequence[Extent]]) -> tuple[Extent, ...]:
    """The shape that `shapes` broadcast to, by NumPy's rule."""

    def refuse(axis: int, extents: Sequence[Extent]) -> NoReturn:
        found = " and ".join(map(str, extents))
        query.fail(f"{query.show_all()} do not broadcast: axis {axis} has {found}")

    return broadcast_extents(shapes, refuse)

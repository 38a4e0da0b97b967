"""Weights that are stored in fewer bits than they are computed with."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators.symbolic import AxisMap, axis_of, passed_through, same_axes
from tandem.compiler.graph.opspec import AnyOp, Operands, OpPattern, TypeQuery, define_operator
from tandem.compiler.graph.types import TensorType
from tandem.compiler.operators import quantised, widen


@dataclass(frozen=True, slots=True)
class Widen(Attributes):
    """The int8 value of each code; the axis along which `group` weights share a scale, and `group`
    0 without scales."""

    table: tuple[int, ...]
    axis: int = 1
    group: int = 0


@dataclass(frozen=True, slots=True)
class DequantiseBlocks(Attributes):
    """The axis along which `block` numbers share a scale; the zero point where blocks have none."""

    axis: int
    block: int
    middle: int = 0


def _numbers(query: TypeQuery, attributes: DequantiseBlocks) -> tuple[TensorType, ...]:
    axes = same_axes(query, axis_of(query, attributes.axis))
    data, *others = query.types
    for position, blocks in enumerate(others, 1):
        for _, axis in axes:
            if axis >= blocks.rank or data.shape[axis] != blocks.shape[axis]:
                query.fail(
                    f"{query.show(position)} is not known to have axis {axis} of {query.show(0)}"
                )
    shared: AxisMap = {(at, axis): axis for at in range(1, len(query.types)) for _, axis in axes}
    return passed_through(query, axes | shared)


def _widened(query: TypeQuery, attributes: Widen) -> tuple[TensorType, ...]:
    if len(query.types) == 1:
        return passed_through(query, same_axes(query))
    axes = same_axes(query, axis_of(query, attributes.axis))
    codes, scales = query.types
    for _, axis in axes:
        if axis >= scales.rank or codes.shape[axis] != scales.shape[axis]:
            query.fail(f"{query.show(1)} is not known to have axis {axis} of {query.show(0)}")
    return passed_through(query, axes | {(1, axis): axis for _, axis in axes})


SPECS: tuple[AnyOp, ...] = (
    define_operator(
        quantised.dequantise_blocks,
        OpPattern.BROADCAST,
        Operands(("data", "scale", "zero_point"), optional=1),
        DequantiseBlocks,
        _numbers,
    ),
    define_operator(
        widen.widen,
        OpPattern.BROADCAST,
        Operands(("codes", "scales"), optional=1),
        Widen,
        _widened,
    ),
)

"""Operators between real numbers and small integers."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.graph.attributes import Attributes
from compiler.graph.operators.symbolic import axis_of, carried, same_axes
from compiler.graph.opspec import AnyOp, Ask, Operands, Pattern, computed_by
from compiler.graph.types import TensorType
from compiler.ir.dtypes import INT8, DType
from compiler.operators import quantised

__all__ = ["SPECS", "Along", "Quantise", "Requantise"]


@dataclass(frozen=True, slots=True)
class Quantise(Attributes):
    """The axis along which scales differ; the type of the result, of up to 16 bits."""

    axis: int = 1
    to: DType = INT8


@dataclass(frozen=True, slots=True)
class Along(Attributes):
    """The axis along which scales differ."""

    axis: int = 1


@dataclass(frozen=True, slots=True)
class Requantise(Attributes):
    """The shift, the limits of results, and the axis along which multipliers differ."""

    shift: int
    low: int
    high: int
    axis: int = 1


def _free(ask: Ask, axis: int) -> dict[tuple[int, int], int | None]:
    """Every axis goes through, but for one that has a number for each index."""
    numbers = (*ask.types[1:3], *ask.types[4:])
    differs = any(each.shape not in ((), (1,)) for each in numbers)
    return dict(same_axes(ask, axis_of(ask, axis)) if differs else same_axes(ask))


def _along(ask: Ask, given: Quantise | Along | Requantise) -> tuple[TensorType, ...]:
    return carried(ask, _free(ask, given.axis))


def _added(ask: Ask, given: Requantise) -> tuple[TensorType, ...]:
    if ask.data.shape != ask.types[3].shape:
        ask.fail(f"{ask.show(3)} is not known to have the shape of {ask.show(0)}")
    free = _free(ask, given.axis)
    return carried(ask, free | {(3, axis): None for _, axis in free})


_SCALED = Operands(("data", "scale", "zero_point"))
_SUMS = Operands(("acc", "multiplier", "addend"))
_ADDED = Operands((*_SUMS.names, "skip", "skip_multiplier"))

SPECS: tuple[AnyOp, ...] = (
    computed_by(quantised.quantise, Pattern.BROADCAST, _SCALED, Quantise, _along),
    computed_by(quantised.dequantise, Pattern.BROADCAST, _SCALED, Along, _along),
    computed_by(quantised.requantise, Pattern.BROADCAST, _SUMS, Requantise, _along),
    computed_by(quantised.requantise_add, Pattern.BROADCAST, _ADDED, Requantise, _added),
)

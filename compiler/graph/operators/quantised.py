"""Quantisation, dequantisation, requantisation, and look-up in tables."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators.gradients.quantised import dequantise_gradient
from tandem.compiler.graph.operators.symbolic import AxisMap, axis_of, passed_through, same_axes
from tandem.compiler.graph.opspec import AnyOp, Operands, OpPattern, TypeQuery, define_operator
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import INT8, DType
from tandem.compiler.operators import lookup, quantised


@dataclass(frozen=True, slots=True)
class Quantise(Attributes):
    """The axis of per-channel scales; the result's element type, of up to 16 bits."""

    axis: int = 1
    to: DType = INT8


@dataclass(frozen=True, slots=True)
class Dequantise(Attributes):
    """The axis of per-channel scales."""

    axis: int = 1


@dataclass(frozen=True, slots=True)
class Requantise(Attributes):
    """The shift, the bounds of the result, and the axis of per-channel multipliers."""

    shift: int
    low: int
    high: int
    axis: int = 1


def _axis_map(query: TypeQuery, axis: int) -> AxisMap:
    """The map of all axes to themselves, except for an axis along which scales differ."""
    numbers = (*query.types[1:3], *query.types[4:])
    differs = any(each.shape not in ((), (1,)) for each in numbers)
    return same_axes(query, axis_of(query, axis)) if differs else same_axes(query)


def _along(
    query: TypeQuery, attributes: Quantise | Dequantise | Requantise
) -> tuple[TensorType, ...]:
    return passed_through(query, _axis_map(query, attributes.axis))


def _added(query: TypeQuery, attributes: Requantise) -> tuple[TensorType, ...]:
    if query.data.shape != query.types[3].shape:
        query.fail(f"{query.show(3)} is not known to have the shape of {query.show(0)}")
    axis_map = _axis_map(query, attributes.axis)
    return passed_through(query, axis_map | {(3, axis): None for _, axis in axis_map})


def _entries(query: TypeQuery, _: Attributes) -> tuple[TensorType, ...]:
    return passed_through(query, same_axes(query))


_SCALED = Operands(("data", "scale", "zero_point"))
_SUMS = Operands(("acc", "multiplier", "addend"))
_ADDED = Operands((*_SUMS.names, "skip", "skip_multiplier"))

SPECS: tuple[AnyOp, ...] = (
    define_operator(
        lookup.lookup, OpPattern.BROADCAST, Operands(("data", "table")), Attributes, _entries
    ),
    define_operator(quantised.quantise, OpPattern.BROADCAST, _SCALED, Quantise, _along),
    define_operator(
        quantised.dequantise,
        OpPattern.BROADCAST,
        _SCALED,
        Dequantise,
        _along,
        gradient=dequantise_gradient,
    ),
    define_operator(quantised.requantise, OpPattern.BROADCAST, _SUMS, Requantise, _along),
    define_operator(quantised.requantise_add, OpPattern.BROADCAST, _ADDED, Requantise, _added),
)

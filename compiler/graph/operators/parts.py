"""Operators that concatenate, slice, pad and gather tensors."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.extents import sum_of
from tandem.compiler.graph.operators.gradients import indexed
from tandem.compiler.graph.operators.gradients import parts as gradients
from tandem.compiler.graph.operators.symbolic import AxisMap, axis_of, passed_through, same_axes
from tandem.compiler.graph.opspec import (
    DATA,
    AnyOp,
    Operands,
    OpPattern,
    TypeQuery,
    define_operator,
)
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import INT64
from tandem.compiler.operators import gather, pad, rows, slicing

_END = 2**31 - 1
"""The smallest end of a slice that exporters write for "up to the end of the axis"."""


@dataclass(frozen=True, slots=True)
class Concat(Attributes):
    """The axis along which tensors are concatenated."""

    axis: int


@dataclass(frozen=True, slots=True)
class Slice(Attributes):
    """start:end:step along axes; by default the first axes, with steps of 1."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    axes: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Split(Attributes):
    """The extents of the parts along an axis."""

    sizes: tuple[int, ...]
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Pad(Attributes):
    """Elements added at the start of each axis, then at the end of each; negative: removed."""

    pads: tuple[int, ...]
    mode: pad.PadMode = pad.PadMode.CONSTANT
    value: int | float | bool = 0


@dataclass(frozen=True, slots=True)
class Gather(Attributes):
    """The axis that is indexed."""

    axis: int = 0


@dataclass(frozen=True, slots=True)
class GatherNd(Attributes):
    """The number of leading batch axes."""

    batch_dims: int = 0


@dataclass(frozen=True, slots=True)
class OneHot(Attributes):
    """The extent of the new axis, and its position in the result."""

    depth: int
    axis: int = -1


def _concat_symbolic(query: TypeQuery, attributes: Concat) -> tuple[TensorType, ...]:
    first, along = query.data, axis_of(query, attributes.axis)
    for position, operand in enumerate(query.types):
        shape = (
            *operand.shape[:along],
            *first.shape[along : along + 1],
            *operand.shape[along + 1 :],
        )
        if TensorType(shape, operand.dtype) != first or operand.rank != first.rank:
            query.fail(f"{query.show(position)} and {query.show(0)} differ beside axis {along}")
    total = sum_of(each.shape[along] for each in query.types)
    if total is None:
        query.fail(
            f"{query.show_all()}: extents along axis {along} do not add up to one that is known"
        )
    return (TensorType((*first.shape[:along], total, *first.shape[along + 1 :]), first.dtype),)


def _split_symbolic(query: TypeQuery, attributes: Split) -> tuple[TensorType, ...]:
    return passed_through(query, same_axes(query, axis_of(query, attributes.axis)))


def _slice_symbolic(query: TypeQuery, attributes: Slice) -> tuple[TensorType, ...]:
    axes = range(len(attributes.starts)) if attributes.axes is None else attributes.axes
    steps = (1,) * len(attributes.starts) if attributes.steps is None else attributes.steps
    # The extent of an axis that is not cut may be symbolic.
    cut = {
        axis_of(query, axis)
        for axis, start, end, step in zip(
            axes, attributes.starts, attributes.ends, steps, strict=False
        )
        if (start, step) != (0, 1) or end < _END
    }
    return passed_through(query, same_axes(query, *cut))


def _pad_symbolic(query: TypeQuery, attributes: Pad) -> tuple[TensorType, ...]:
    # Pads at axis starts, then at axis ends: `same_axes` takes positions modulo the rank.
    return passed_through(
        query, same_axes(query, *(at for at, number in enumerate(attributes.pads) if number))
    )


def _gather_symbolic(query: TypeQuery, attributes: Gather) -> tuple[TensorType, ...]:
    data, indices = (each.shape for each in query.types)
    along = axis_of(query, attributes.axis)
    width = len(indices)
    axis_map: AxisMap = {(1, axis): along + axis for axis in range(width)}
    for axis in range(len(data)):
        axis_map[0, axis] = axis if axis < along else None if axis == along else axis + width - 1
    return passed_through(query, axis_map)


def _gather_elements_symbolic(query: TypeQuery, attributes: Gather) -> tuple[TensorType, ...]:
    data, indices = query.types
    along = axis_of(query, attributes.axis)
    pairs = list(enumerate(zip(data.shape, indices.shape, strict=False)))
    for axis, (a, b) in pairs:
        within = b <= a if isinstance(a, int) and isinstance(b, int) else a == b
        if axis != along and not within:
            query.fail(f"{query.show(1)} is not known to lie within {query.show(0)}")
    axis_map: AxisMap = {(0, axis): None for axis, _ in pairs}
    return passed_through(query, axis_map | {(1, axis): axis for axis, _ in pairs})


def _gather_nd_symbolic(query: TypeQuery, attributes: GatherNd) -> tuple[TensorType, ...]:
    data, indices = (each.shape for each in query.types)
    batch, outer = attributes.batch_dims, max(len(indices) - 1, 0)
    if data[:batch] != indices[:batch]:
        query.fail(f"{query.show_all()}: the first {batch} axes differ")
    axis_map: AxisMap = {(1, axis): axis for axis in range(outer)}
    depth = indices[-1] if indices else 0
    if isinstance(depth, int):
        for axis in range(len(data)):
            axis_map[0, axis] = outer + axis - batch - depth if axis >= batch + depth else None
    return passed_through(query, axis_map)


def _one_hot_symbolic(query: TypeQuery, attributes: OneHot) -> tuple[TensorType, ...]:
    new = axis_of(query, attributes.axis, extra=1)
    return passed_through(
        query, {(0, axis): axis + (axis >= new) for axis in range(query.data.rank)}
    )


def _put_row_symbolic(query: TypeQuery, _: Attributes) -> tuple[TensorType, ...]:
    data, row, index = query.types
    fits = data.shape[1:] == row.shape and (index.shape, index.dtype) == ((), INT64)
    if not data.shape or not fits or data.dtype != row.dtype:
        query.fail(f"{query.show(1)} is no row of {query.show(0)} at {query.show(2)}")
    return (data,)


_INDEXED = Operands(("data", "indices"))

SPECS: tuple[AnyOp, ...] = (
    define_operator(
        lambda *tensors, **attributes: slicing.concat(tensors, **attributes),
        OpPattern.INJECTIVE,
        Operands(("x",), variadic=True),
        Concat,
        _concat_symbolic,
        name="concat",
        gradient=gradients.concat_gradient,
    ),
    define_operator(
        lambda indices, values, **attributes: gather.one_hot(indices, values=values, **attributes),
        OpPattern.OUT_FUSABLE,
        Operands(("indices", "values")),
        OneHot,
        _one_hot_symbolic,
        name="one_hot",
        gradient=indexed.one_hot_gradient,
    ),
    define_operator(
        slicing.split,
        OpPattern.INJECTIVE,
        DATA,
        Split,
        _split_symbolic,
        several=True,
        gradient=gradients.split_gradient,
    ),
    define_operator(
        slicing.slice_of,
        OpPattern.INJECTIVE,
        DATA,
        Slice,
        _slice_symbolic,
        name="slice",
        gradient=gradients.slice_gradient,
    ),
    define_operator(
        pad.pad, OpPattern.INJECTIVE, DATA, Pad, _pad_symbolic, gradient=gradients.pad_gradient
    ),
    *(
        define_operator(
            function, OpPattern.INJECTIVE, _INDEXED, attributes, symbolic, gradient=rule
        )
        for function, attributes, symbolic, rule in (
            (gather.gather, Gather, _gather_symbolic, indexed.gather_gradient),
            (
                gather.gather_elements,
                Gather,
                _gather_elements_symbolic,
                indexed.gather_elements_gradient,
            ),
            (gather.gather_nd, GatherNd, _gather_nd_symbolic, indexed.gather_nd_gradient),
        )
    ),
    define_operator(
        rows.put_row,
        OpPattern.OPAQUE,
        Operands(("data", "row", "index")),
        Attributes,
        _put_row_symbolic,
        gradient=indexed.put_row_gradient,
    ),
)

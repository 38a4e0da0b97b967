"""Operators that put tensors together, take them apart, and pick from them."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.graph.attributes import Attributes
from compiler.graph.extents import sum_of
from compiler.graph.operators.symbolic import axis_of, carried, same_axes
from compiler.graph.opspec import DATA, AnyOp, Ask, Operands, Pattern, computed_by
from compiler.graph.types import TensorType
from compiler.operators import gather, pad, slicing

__all__ = ["SPECS", "Concat", "Gather", "GatherNd", "OneHot", "Pad", "Slice", "Split"]

_END = 2**31 - 1
"""Exporters write this, or more, for "up to the end"."""


@dataclass(frozen=True, slots=True)
class Concat(Attributes):
    """The axis along which tensors lie one after the other."""

    axis: int


@dataclass(frozen=True, slots=True)
class Slice(Attributes):
    """start:end:step along axes, by default the first ones, by default in steps of 1."""

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
    """Elements before each axis, then after each; a negative number cuts off."""

    pads: tuple[int, ...]
    mode: pad.PadMode = pad.PadMode.CONSTANT
    value: int | float | bool = 0


@dataclass(frozen=True, slots=True)
class Gather(Attributes):
    """The axis from which elements are picked."""

    axis: int = 0


@dataclass(frozen=True, slots=True)
class GatherNd(Attributes):
    """First axes that run together."""

    batch_dims: int = 0


@dataclass(frozen=True, slots=True)
class OneHot(Attributes):
    """The extent of the new axis, and where it stands."""

    depth: int
    axis: int = -1


def _concat_symbolic(ask: Ask, given: Concat) -> tuple[TensorType, ...]:
    first, along = ask.data, axis_of(ask, given.axis)
    for position, each in enumerate(ask.types):
        if (
            each.rank != first.rank
            or each.dtype != first.dtype
            or each.shape[:along] != first.shape[:along]
            or each.shape[along + 1 :] != first.shape[along + 1 :]
        ):
            ask.fail(f"{ask.show(position)} and {ask.show(0)} differ beside axis {along}")
    total = sum_of(each.shape[along] for each in ask.types)
    if total is None:
        ask.fail(f"{ask.show_all()}: extents along axis {along} do not add up to one that is known")
    return (TensorType((*first.shape[:along], total, *first.shape[along + 1 :]), first.dtype),)


def _split_symbolic(ask: Ask, given: Split) -> tuple[TensorType, ...]:
    return carried(ask, same_axes(ask, axis_of(ask, given.axis)))


def _slice_symbolic(ask: Ask, given: Slice) -> tuple[TensorType, ...]:
    axes = range(len(given.starts)) if given.axes is None else given.axes
    steps = (1,) * len(given.starts) if given.steps is None else given.steps
    # Of an axis that is taken whole it does not matter how long it is.
    cut = {
        axis_of(ask, axis)
        for axis, start, end, step in zip(axes, given.starts, given.ends, steps, strict=False)
        if (start, step) != (0, 1) or end < _END
    }
    return carried(ask, same_axes(ask, *cut))


def _pad_symbolic(ask: Ask, given: Pad) -> tuple[TensorType, ...]:
    # Padding before each axis, then after each: as places, both mean the axis.
    return carried(ask, same_axes(ask, *(at for at, number in enumerate(given.pads) if number)))


def _gather_symbolic(ask: Ask, given: Gather) -> tuple[TensorType, ...]:
    data, indices = (each.shape for each in ask.types)
    along = axis_of(ask, given.axis)
    width = len(indices)
    free: dict[tuple[int, int], int | None] = {(1, axis): along + axis for axis in range(width)}
    for axis in range(len(data)):
        free[0, axis] = axis if axis < along else None if axis == along else axis + width - 1
    return carried(ask, free)


def _gather_elements_symbolic(ask: Ask, given: Gather) -> tuple[TensorType, ...]:
    data, indices = ask.types
    along = axis_of(ask, given.axis)
    pairs = list(enumerate(zip(data.shape, indices.shape, strict=False)))
    for axis, (a, b) in pairs:
        within = b <= a if isinstance(a, int) and isinstance(b, int) else a == b
        if axis != along and not within:
            ask.fail(f"{ask.show(1)} is not known to lie within {ask.show(0)}")
    free: dict[tuple[int, int], int | None] = {(0, axis): None for axis, _ in pairs}
    return carried(ask, free | {(1, axis): axis for axis, _ in pairs})


def _gather_nd_symbolic(ask: Ask, given: GatherNd) -> tuple[TensorType, ...]:
    data, indices = (each.shape for each in ask.types)
    batch, outer = given.batch_dims, max(len(indices) - 1, 0)
    if data[:batch] != indices[:batch]:
        ask.fail(f"{ask.show_all()}: the first {batch} axes differ")
    free: dict[tuple[int, int], int | None] = {(1, axis): axis for axis in range(outer)}
    depth = indices[-1] if indices else 0
    if isinstance(depth, int):
        for axis in range(len(data)):
            free[0, axis] = outer + axis - batch - depth if axis >= batch + depth else None
    return carried(ask, free)


def _one_hot_symbolic(ask: Ask, given: OneHot) -> tuple[TensorType, ...]:
    new = axis_of(ask, given.axis, extra=1)
    return carried(ask, {(0, axis): axis + (axis >= new) for axis in range(ask.data.rank)})


_PICKED = Operands(("data", "indices"))

SPECS: tuple[AnyOp, ...] = (
    computed_by(
        lambda *tensors, **given: slicing.concat(tensors, **given),
        Pattern.INJECTIVE,
        Operands(("x",), variadic=True),
        Concat,
        _concat_symbolic,
        name="concat",
    ),
    computed_by(
        lambda indices, values, **given: gather.one_hot(indices, values=values, **given),
        Pattern.OUT_FUSABLE,
        Operands(("indices", "values")),
        OneHot,
        _one_hot_symbolic,
        name="one_hot",
    ),
    computed_by(slicing.split, Pattern.INJECTIVE, DATA, Split, _split_symbolic, several=True),
    computed_by(slicing.slice_of, Pattern.INJECTIVE, DATA, Slice, _slice_symbolic, name="slice"),
    computed_by(pad.pad, Pattern.INJECTIVE, DATA, Pad, _pad_symbolic),
    computed_by(gather.gather, Pattern.INJECTIVE, _PICKED, Gather, _gather_symbolic),
    computed_by(
        gather.gather_elements, Pattern.INJECTIVE, _PICKED, Gather, _gather_elements_symbolic
    ),
    computed_by(gather.gather_nd, Pattern.INJECTIVE, _PICKED, GatherNd, _gather_nd_symbolic),
)

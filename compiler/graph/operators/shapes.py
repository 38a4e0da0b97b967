"""Operators that give the same elements another shape or order."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.graph.attributes import Attributes
from compiler.graph.extents import Dim, Extent, product, quotient
from compiler.graph.operators.symbolic import axis_of, carried, leading, same_axes, stood_in
from compiler.graph.opspec import DATA, AnyOp, Ask, Pattern, computed_by
from compiler.graph.types import TensorType
from compiler.operators import layout

__all__ = [
    "SPECS",
    "Axis",
    "DepthToSpace",
    "Expand",
    "Reshape",
    "SomeAxes",
    "SpaceToDepth",
    "Tile",
    "Transpose",
    "Unsqueeze",
]


@dataclass(frozen=True, slots=True)
class Transpose(Attributes):
    """The old axis for each new one; by default their order is reversed."""

    perm: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Reshape(Attributes):
    """One extent may be -1, what is left; 0 is the old one, or, with `allow_zero`, none."""

    shape: tuple[int, ...]
    allow_zero: bool = False


@dataclass(frozen=True, slots=True)
class Axis(Attributes):
    """The first axis of a matrix's columns."""

    axis: int = 1


@dataclass(frozen=True, slots=True)
class SomeAxes(Attributes):
    """Axes; by default all that have extent 1."""

    axes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Unsqueeze(Attributes):
    """Where the new axes stand in the result."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Expand(Attributes):
    """The shape to broadcast with."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tile(Attributes):
    """How many times, for each axis."""

    repeats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SpaceToDepth(Attributes):
    """Pixels of a block, along each axis."""

    block: int


@dataclass(frozen=True, slots=True)
class DepthToSpace(SpaceToDepth):
    """As `SpaceToDepth`, and the order of a channel's parts."""

    column_row_depth: bool = False


def _transpose(ask: Ask, given: Transpose) -> tuple[TensorType, ...]:
    rank = ask.data.rank
    order = tuple(reversed(range(rank))) if given.perm is None else given.perm
    return carried(ask, {(0, old): new for new, old in enumerate(order) if 0 <= old < rank})


def _reshape(ask: Ask, given: Reshape) -> tuple[TensorType, ...]:
    asked = f"{ask.show(0)} into {list(given.shape)}"
    found: list[Extent] = list(given.shape)
    for axis, extent in enumerate(given.shape):
        if extent < -1 or (extent == 0 and not given.allow_zero and axis >= ask.data.rank):
            ask.fail(f"{asked}: there is no extent {extent} for axis {axis}")
        if extent == 0 and not given.allow_zero:
            found[axis] = ask.data.shape[axis]
    if found.count(-1) > 1:
        ask.fail(f"{asked}: only one extent can be -1")
    if -1 in found:
        left = quotient(ask.data.size, product(each for each in found if each != -1))
        if left is None:
            ask.fail(f"{asked}: {ask.data.size} elements leave no extent for -1 that is known")
        found[found.index(-1)] = left
    if product(found) != ask.data.size:
        ask.fail(f"{asked}: {ask.data.size} elements are not known to be {product(found)}")
    return (TensorType(tuple(found), ask.data.dtype),)


def _flatten(ask: Ask, given: Axis) -> tuple[TensorType, ...]:
    shape = ask.data.shape
    at = given.axis if given.axis == len(shape) else axis_of(ask, given.axis)
    return (TensorType((product(shape[:at]), product(shape[at:])), ask.data.dtype),)


def _squeeze(ask: Ask, given: SomeAxes) -> tuple[TensorType, ...]:
    if given.axes is None:
        ask.fail(f"{ask.show(0)}: whether a symbol is 1 is not known, axes have to be given")
    gone = {axis_of(ask, each) for each in given.axes}
    kept = [each for each in range(ask.data.rank) if each not in gone]
    for each in gone:
        if ask.data.shape[each] != 1:
            ask.fail(f"axis {each} of {ask.show(0)} has not extent 1")
    return carried(ask, {(0, old): new for new, old in enumerate(kept)})


def _unsqueeze(ask: Ask, given: Unsqueeze) -> tuple[TensorType, ...]:
    rank = ask.data.rank
    new = {axis_of(ask, each, extra=len(given.axes)) for each in given.axes}
    kept = [each for each in range(rank + len(given.axes)) if each not in new]
    return carried(ask, {(0, old): kept[old] for old in range(rank)})


def _expand(ask: Ask, given: Expand) -> tuple[TensorType, ...]:
    for mine, asked in zip(reversed(ask.data.shape), reversed(given.shape), strict=False):
        if isinstance(mine, Dim) and asked != 1:
            ask.fail(f"{ask.show(0)} is not known to broadcast with {list(given.shape)}")
    added = max(len(given.shape) - ask.data.rank, 0)
    return carried(ask, {(0, axis): added + axis for axis in range(ask.data.rank)})


def _tile(ask: Ask, given: Tile) -> tuple[TensorType, ...]:
    ask.answer(stood_in(ask, same_axes(ask)))
    shape = tuple(product(pair) for pair in zip(ask.data.shape, given.repeats, strict=True))
    return (TensorType(shape, ask.data.dtype),)


SPECS: tuple[AnyOp, ...] = tuple(
    computed_by(function, Pattern.INJECTIVE, DATA, attributes, symbolic)
    for function, attributes, symbolic in (
        (layout.transpose, Transpose, _transpose),
        (layout.reshape, Reshape, _reshape),
        (layout.flatten, Axis, _flatten),
        (layout.squeeze, SomeAxes, _squeeze),
        (layout.unsqueeze, Unsqueeze, _unsqueeze),
        (layout.expand, Expand, _expand),
        (layout.tile, Tile, _tile),
        (layout.depth_to_space, DepthToSpace, leading(1)),
        (layout.space_to_depth, SpaceToDepth, leading(1)),
    )
)

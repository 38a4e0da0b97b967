"""Operators that change the shape or the order of elements."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.extents import Dim, Extent, product, quotient
from tandem.compiler.graph.operators.gradients import shapes as gradients
from tandem.compiler.graph.operators.symbolic import (
    axis_of,
    leading,
    passed_through,
    same_axes,
    substituted_shapes,
)
from tandem.compiler.graph.opspec import DATA, AnyOp, OpPattern, TypeQuery, define_operator
from tandem.compiler.graph.types import TensorType
from tandem.compiler.operators import layout


@dataclass(frozen=True, slots=True)
class Transpose(Attributes):
    """The old axis for each new axis; by default the order is reversed."""

    perm: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Reshape(Attributes):
    """The new shape: -1 is inferred from the size; 0 copies the old extent unless `allow_zero`."""

    shape: tuple[int, ...]
    allow_zero: bool = False


@dataclass(frozen=True, slots=True)
class Flatten(Attributes):
    """The first axis that is flattened into the columns of the matrix."""

    axis: int = 1


@dataclass(frozen=True, slots=True)
class Squeeze(Attributes):
    """Axes to remove; by default all of extent 1."""

    axes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Unsqueeze(Attributes):
    """The positions of the new axes in the result."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Expand(Attributes):
    """The shape that the operand is broadcast with."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tile(Attributes):
    """The number of repetitions along each axis."""

    repeats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SpaceToDepth(Attributes):
    """The block size along each spatial axis."""

    block: int


@dataclass(frozen=True, slots=True)
class DepthToSpace(SpaceToDepth):
    """The block size, and whether channels are ordered column, row, depth (CRD)."""

    column_row_depth: bool = False


@dataclass(frozen=True, slots=True)
class Upsample(Attributes):
    """How often rows and columns are repeated."""

    factors: tuple[int, int]


def _transpose(query: TypeQuery, attributes: Transpose) -> tuple[TensorType, ...]:
    rank = query.data.rank
    order = tuple(reversed(range(rank))) if attributes.perm is None else attributes.perm
    return passed_through(
        query, {(0, old): new for new, old in enumerate(order) if 0 <= old < rank}
    )


def _reshape(query: TypeQuery, attributes: Reshape) -> tuple[TensorType, ...]:
    asked = f"{query.show(0)} into {list(attributes.shape)}"
    found: list[Extent] = list(attributes.shape)
    for axis, extent in enumerate(attributes.shape):
        if extent < -1 or (extent == 0 and not attributes.allow_zero and axis >= query.data.rank):
            query.fail(f"{asked}: there is no extent {extent} for axis {axis}")
        if extent == 0 and not attributes.allow_zero:
            found[axis] = query.data.shape[axis]
    if found.count(-1) > 1:
        query.fail(f"{asked}: only one extent can be -1")
    if -1 in found:
        left = quotient(query.data.size, product(each for each in found if each != -1))
        if left is None:
            query.fail(f"{asked}: {query.data.size} elements leave no extent for -1 that is known")
        found[found.index(-1)] = left
    if product(found) != query.data.size:
        query.fail(f"{asked}: {query.data.size} elements are not known to be {product(found)}")
    return (TensorType(tuple(found), query.data.dtype),)


def _flatten(query: TypeQuery, attributes: Flatten) -> tuple[TensorType, ...]:
    shape = query.data.shape
    at = attributes.axis if attributes.axis == len(shape) else axis_of(query, attributes.axis)
    return (TensorType((product(shape[:at]), product(shape[at:])), query.data.dtype),)


def _squeeze(query: TypeQuery, attributes: Squeeze) -> tuple[TensorType, ...]:
    if attributes.axes is None:
        query.fail(f"{query.show(0)}: a symbol may be 1, so that axes have to be given")
    removed = {axis_of(query, each) for each in attributes.axes}
    kept = [each for each in range(query.data.rank) if each not in removed]
    for axis in removed:
        if query.data.shape[axis] != 1:
            query.fail(f"axis {axis} of {query.show(0)} has not extent 1")
    return passed_through(query, {(0, old): new for new, old in enumerate(kept)})


def _unsqueeze(query: TypeQuery, attributes: Unsqueeze) -> tuple[TensorType, ...]:
    rank = query.data.rank
    new = {axis_of(query, each, extra=len(attributes.axes)) for each in attributes.axes}
    kept = [each for each in range(rank + len(attributes.axes)) if each not in new]
    return passed_through(query, {(0, old): kept[old] for old in range(rank)})


def _expand(query: TypeQuery, attributes: Expand) -> tuple[TensorType, ...]:
    for mine, asked in zip(reversed(query.data.shape), reversed(attributes.shape), strict=False):
        if isinstance(mine, Dim) and asked != 1:
            query.fail(f"{query.show(0)} is not known to broadcast with {list(attributes.shape)}")
    added = max(len(attributes.shape) - query.data.rank, 0)
    return passed_through(query, {(0, axis): added + axis for axis in range(query.data.rank)})


def _tile(query: TypeQuery, attributes: Tile) -> tuple[TensorType, ...]:
    query.infer(substituted_shapes(query, same_axes(query)))
    shape = tuple(product(pair) for pair in zip(query.data.shape, attributes.repeats, strict=True))
    return (TensorType(shape, query.data.dtype),)


def _upsample(query: TypeQuery, attributes: Upsample) -> tuple[TensorType, ...]:
    query.infer(substituted_shapes(query, same_axes(query)))
    factors = (1, 1, *attributes.factors)
    shape = tuple(product(pair) for pair in zip(query.data.shape, factors, strict=True))
    return (TensorType(shape, query.data.dtype),)


SPECS: tuple[AnyOp, ...] = tuple(
    define_operator(function, OpPattern.INJECTIVE, DATA, attributes, symbolic, gradient=gradient)
    for function, attributes, symbolic, gradient in (
        (layout.transpose, Transpose, _transpose, gradients.transpose_gradient),
        (layout.reshape, Reshape, _reshape, gradients.reshape_gradient),
        (layout.flatten, Flatten, _flatten, gradients.reshape_gradient),
        (layout.squeeze, Squeeze, _squeeze, gradients.squeeze_gradient),
        (layout.unsqueeze, Unsqueeze, _unsqueeze, gradients.unsqueeze_gradient),
        (layout.expand, Expand, _expand, gradients.expand_gradient),
        (layout.tile, Tile, _tile, gradients.tile_gradient),
        (layout.depth_to_space, DepthToSpace, leading(1), gradients.depth_to_space_gradient),
        (layout.space_to_depth, SpaceToDepth, leading(1), gradients.space_to_depth_gradient),
        (layout.upsample, Upsample, _upsample, gradients.upsample_gradient),
    )
)

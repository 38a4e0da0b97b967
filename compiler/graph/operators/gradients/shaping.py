"""Shapes of gradients: sums over what was broadcast, and its inverse."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler.graph.extents import Dim, Extent, product
from tandem.compiler.graph.terms import Term, apply, where
from tandem.compiler.graph.types import TensorType


def summed_to(term: Term, type_: TensorType) -> Term:
    """The sum over the axes along which a tensor of a type was broadcast to the term's shape."""
    added = term.type.rank - type_.rank
    if added:
        term = apply("reduce_sum", term, axes=tuple(range(added)), keepdims=False)
    pairs = zip(type_.shape, term.type.shape, strict=True)
    repeated = tuple(axis for axis, (own, other) in enumerate(pairs) if own == 1 and other != 1)
    return apply("reduce_sum", term, axes=repeated, keepdims=True) if repeated else term


def broadcast_to(term: Term, like: Term) -> Term:
    """The term broadcast to the shape of another one, which may be symbolic."""
    shape = like.type.shape
    if term.type.shape == shape:
        return term
    if not any(isinstance(extent, Dim) for extent in shape):
        return apply("expand", term, shape=shape)
    # Nothing is less than itself: of the other term only the shape matters.
    return where(apply("less", like, like), 0.0, term)


def zeros_like(term: Term) -> Term:
    """Zeros of a float's shape and type."""
    return broadcast_to(term.scalar(0), term)


def reshaped(term: Term, shape: Sequence[Extent]) -> Term:
    """The term in another shape of the same size, of which one extent may be symbolic.

    Raises a `GraphError` if several are.
    """
    if tuple(shape) == term.type.shape:
        return term
    symbolic = [axis for axis, extent in enumerate(shape) if isinstance(extent, Dim)]
    if not symbolic:
        return apply("reshape", term, shape=tuple(shape), allow_zero=True)
    if len(symbolic) > 1:
        TensorType(tuple(shape), term.type.dtype).static_shape("the shape of a gradient")
    found = tuple(-1 if isinstance(extent, Dim) else extent for extent in shape)
    return apply("reshape", term, shape=found)


def reduced_axes(rank: int, axes: Sequence[int] | None) -> tuple[int, ...]:
    """Axes counted from 0, in order; all without any."""
    return tuple(range(rank)) if axes is None else tuple(sorted(axis % rank for axis in axes))


def kept(term: Term, rank: int, axes: Sequence[int], keepdims: bool) -> Term:
    """A reduction's result with the reduced axes, of a tensor of a rank, as axes of extent 1."""
    assert term.type.rank == (rank if keepdims else rank - len(axes)), "of the reduction"
    return term if keepdims or not axes else apply("unsqueeze", term, axes=tuple(axes))


def count_along(term: Term, axes: Sequence[int]) -> Term:
    """The number of elements along axes, as a float: a scalar, or of the axes as extents 1."""
    count = product(term.type.shape[axis] for axis in axes)
    if isinstance(count, int):
        return term.scalar(count)
    return total(broadcast_to(term.scalar(1), term), axes)


def total(term: Term, axes: Sequence[int], keepdims: bool = True) -> Term:
    """The sum along axes."""
    if not axes:
        return term
    return apply("reduce_sum", term, axes=tuple(axes), keepdims=keepdims)


def mean(term: Term, axes: Sequence[int]) -> Term:
    """The mean along axes, which are kept with extent 1."""
    return apply("reduce_mean", term, axes=tuple(axes), keepdims=True) if axes else term


def moved(term: Term, source: int, target: int) -> Term:
    """The term with an axis at another position among the others."""
    order = [axis for axis in range(term.type.rank) if axis != source]
    order.insert(target, source)
    return transposed(term, order)


def transposed(term: Term, order: Sequence[int]) -> Term:
    """The term with axes in an order."""
    if list(order) == list(range(term.type.rank)):
        return term
    return apply("transpose", term, perm=tuple(order))


def sliced(term: Term, axis: int, start: int, end: int, step: int = 1) -> Term:
    """Elements `start` to `end` along an axis; with step -1 backwards, from all of them."""
    if step == 1 and (start, end) == (0, term.type.shape[axis]):
        return term
    return apply("slice", term, starts=(start,), ends=(end,), axes=(axis,), steps=(step,))


def flipped(term: Term, axes: Sequence[int]) -> Term:
    """The term with the elements along axes in reverse order."""
    extents = [term.type.shape[axis] for axis in axes]
    turned = [axis for axis, extent in zip(axes, extents, strict=True) if extent != 1]
    if not turned:
        return term
    count = len(turned)
    return apply(
        "slice",
        term,
        starts=(-1,) * count,
        ends=(-(2**31),) * count,
        axes=tuple(turned),
        steps=(-1,) * count,
    )


def stretched(term: Term, steps: Sequence[int]) -> Term:
    """The term with zeros between elements, so that they are `steps` apart along each axis."""
    shape = term.type.static_shape("a gradient")
    if all(step == 1 or extent <= 1 for step, extent in zip(steps, shape, strict=True)):
        return term
    before, pads, joined, ends = [], [], [], []
    for extent, step in zip(shape, steps, strict=True):
        before += [extent, 1]
        pads += [0, step - 1]
        joined.append(extent * step)
        ends.append((extent - 1) * step + 1 if extent else 0)
    apart = apply("reshape", term, shape=tuple(before), allow_zero=True)
    filled = apply("pad", apart, pads=(*(0 for _ in pads), *pads))
    whole = apply("reshape", filled, shape=tuple(joined), allow_zero=True)
    axes = tuple(range(len(shape)))
    return apply("slice", whole, starts=tuple(0 for _ in axes), ends=tuple(ends), axes=axes)


def padded(term: Term, before: Sequence[int], after: Sequence[int]) -> Term:
    """The term with zeros around, or without some elements where a number is negative."""
    pads = (*before, *after)
    return apply("pad", term, pads=pads) if any(pads) else term

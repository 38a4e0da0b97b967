"""Gradients of operators that change the shape or the order of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.shaping import (
    reshaped,
    summed_to,
    total,
    transposed,
)
from tandem.compiler.graph.terms import Term, apply


def transpose_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The axes back in their order."""
    rank = query.data.type.rank
    order = tuple(reversed(range(rank))) if attributes.perm is None else attributes.perm
    return [transposed(query.gradient, tuple(int(axis) for axis in np.argsort(order)))]


def reshape_gradient(query: GradientQuery, _: object) -> Gradients:
    """The shape back: of `reshape`, `flatten`, `squeeze` and `unsqueeze`."""
    return [reshaped(query.gradient, query.data.type.shape)]


def squeeze_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The axes of extent 1, which may be beside several symbolic ones."""
    if attributes.axes is None:
        return reshape_gradient(query, attributes)
    rank = query.data.type.rank
    return [apply("unsqueeze", query.gradient, axes=tuple(axis % rank for axis in attributes.axes))]


def unsqueeze_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Without the new axes."""
    rank = query.gradient.type.rank
    axes = tuple(axis % rank for axis in attributes.axes)
    return [apply("squeeze", query.gradient, axes=axes)]


def expand_gradient(query: GradientQuery, _: object) -> Gradients:
    """The sum over the copies."""
    return [summed_to(query.gradient, query.data.type)]


def tile_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The sum over the copies."""
    return [_copies_summed(query, attributes.repeats, copies_first=True)]


def upsample_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The sum over the pixels of each rectangle."""
    return [_copies_summed(query, (1, 1, *attributes.factors), copies_first=False)]


def _copies_summed(query: GradientQuery, repeats: tuple[int, ...], copies_first: bool) -> Term:
    shape = query.data.type.static_shape(f"the operand of {query.operator}")
    apart: list[int] = []
    for extent, times in zip(shape, repeats, strict=True):
        apart += (times, extent) if copies_first else (extent, times)
    axes = tuple(2 * axis + (not copies_first) for axis in range(len(shape)))
    return total(reshaped(query.gradient, apart), axes, keepdims=False)


def depth_to_space_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Blocks of pixels become channels again."""
    found = apply("space_to_depth", query.gradient, block=attributes.block)
    if attributes.column_row_depth:
        images, channels, *pixels = query.data.type.static_shape("the operand of depth_to_space")
        area = attributes.block**2
        apart = reshaped(found, (images, area, channels // area, *pixels))
        found = reshaped(transposed(apart, (0, 2, 1, 3, 4)), query.data.type.shape)
    return [found]


def space_to_depth_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Channels become blocks of pixels again."""
    return [apply("depth_to_space", query.gradient, block=attributes.block)]

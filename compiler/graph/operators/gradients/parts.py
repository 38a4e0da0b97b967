"""Gradients of concatenation, slices and padding."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.indexing import added_along
from tandem.compiler.graph.operators.gradients.shaping import (
    flipped,
    padded,
    sliced,
    stretched,
    zeros_like,
)
from tandem.compiler.graph.terms import Term, apply
from tandem.compiler.graph.types import TensorType
from tandem.compiler.operators.pad import PadMode
from tandem.compiler.operators.slicing import elements


def concat_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The parts of the gradient."""
    axis = attributes.axis % query.data.type.rank
    if len(query.operands) == 1:
        return [query.gradient]
    extents = [
        TensorType((part.type.shape[axis],), part.type.dtype).static_shape("a part of concat")[0]
        for part in query.operands
    ]
    edges = pairwise(accumulate(extents, initial=0))
    return [sliced(query.gradient, axis, start, end) for start, end in edges]


def split_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The parts' gradients side by side; zeros for parts on which nothing depends."""
    dtype = next(each for each in query.gradients if each is not None).type.dtype
    parts = [
        zeros_like(part.with_dtype(dtype)) if gradient is None else gradient
        for part, gradient in zip(query.results, query.gradients, strict=True)
    ]
    return [apply("concat", *parts, axis=attributes.axis)]


def slice_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The gradient where the elements were, and zeros elsewhere."""
    shape = query.data.type.shape
    rank = len(shape)
    count = len(attributes.starts)
    axes = range(count) if attributes.axes is None else attributes.axes
    steps = (1,) * count if attributes.steps is None else attributes.steps
    found = query.gradient
    strides, before, after, backwards = [1] * rank, [0] * rank, [0] * rank, []
    for axis, start, end, step in zip(axes, attributes.starts, attributes.ends, steps, strict=True):
        extent = shape[axis]
        if not isinstance(extent, int):
            # Only a whole axis may be symbolic.
            continue
        taken = elements(extent, start, end, step)
        first, last = (min(taken), max(taken)) if taken else (extent, extent - 1)
        strides[axis], before[axis], after[axis] = abs(step), first, extent - 1 - last
        if step < 0:
            backwards.append(axis)
    found = flipped(found, backwards)
    if any(stride != 1 for stride in strides):
        found = stretched(found, strides)
    return [padded(found, before, after)]


def pad_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Without the padding, which is added to the elements that it repeats."""
    rank = query.data.type.rank
    before, after = attributes.pads[:rank], attributes.pads[rank:]
    if attributes.mode is PadMode.CONSTANT:
        return [padded(query.gradient, [-each for each in before], [-each for each in after])]
    found = query.gradient
    for axis, (first, last) in enumerate(zip(before, after, strict=True)):
        if first or last:
            found = _unpadded(found, axis, query.data.type, (first, last), attributes.mode)
    return [found]


def _unpadded(
    term: Term, axis: int, type_: TensorType, pads: tuple[int, int], mode: PadMode
) -> Term:
    """The term with the elements of an axis added where they came from."""
    extent = TensorType(type_.shape[axis : axis + 1], type_.dtype).static_shape("a padded axis")[0]
    first, last = (max(0, -each) for each in pads)
    kept = np.arange(first, extent - last)
    width = (max(0, pads[0]), max(0, pads[1]))
    places = np.arange(-width[0], len(kept) + width[1])
    match mode:
        case PadMode.EDGE:
            places = places.clip(0, len(kept) - 1)
        case PadMode.WRAP:
            places = places % len(kept)
        case _:
            period = max(1, 2 * (len(kept) - 1))
            places = np.minimum(places % period, period - places % period)
    return added_along(term, axis, term.constant(kept[places]), extent)

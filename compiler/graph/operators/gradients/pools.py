"""Gradients of pooling and of sums of windows: of windows, the elements.

At ties `max_pool` gives the gradient to the first of the greatest elements of a window.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.shaping import padded, reshaped
from tandem.compiler.graph.terms import Term, apply, where


@dataclass(frozen=True, slots=True)
class _Windows:
    """The windows of an image, whose padding ends where the last window does.

    Attributes
    ----------
    image
        The extents of the image along its spatial axes; `counts` are the numbers of windows.
    """

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements of a window."""
        return prod(self.kernel)

    def positions(self, axis: int) -> NDArray[np.int64]:
        """The positions along an axis of each window's elements, from the start of the padding:
        [windows, kernel]."""
        starts = np.arange(self.counts[axis]) * self.strides[axis]
        return starts[:, None] + np.arange(self.kernel[axis]) * self.dilation[axis]

    def images(self, columns: Term, channels: int) -> Term:
        """The sums of windows [N, C, elements, windows] in their places."""
        batch = columns.type.shape[0]
        rows = reshaped(columns, (batch, channels * self.size, prod(self.counts)))
        return apply(
            "col2im",
            rows,
            image=self.image,
            kernel=self.kernel,
            strides=self.strides,
            padding=(*self.before, *self.after),
            dilation=self.dilation,
        )

    def columns(self, image: Term, filler: float = 0.0) -> Term:
        """The windows [N, C, elements, windows] of an image."""
        batch, channels, *_ = image.type.static_shape("an image")
        pads = ((0, 0, *each) for each in (self.before, self.after))
        if filler:
            whole = apply("pad", image, pads=tuple(n for each in pads for n in each), value=filler)
        else:
            whole = padded(image, *pads)
        extents = whole.type.static_shape("an image")[2:]
        flat = reshaped(whole, (batch, channels, prod(extents)))
        places: NDArray[np.int64] = np.zeros((1, 1), np.int64)
        for axis, extent in enumerate(extents):
            own = self.positions(axis).T
            # Elements of windows, then windows, each in row-major order.
            places = places[:, None, :, None] * extent + own[None, :, None, :]
            places = places.reshape(places.shape[0] * places.shape[1], -1)
        return apply("gather", flat, flat.constant(places), axis=2)


def _windows(query: GradientQuery, attributes: Any) -> _Windows:
    image = query.data.type.static_shape("the operand of a pooling")[2:]
    counts = query.result.type.static_shape("the result of a pooling")[2:]
    rank = len(image)
    ones = (1,) * rank
    strides, dilation = (each or ones for each in (attributes.strides, attributes.dilation))
    padding = attributes.padding or (0, 0) * rank
    ends = [
        (count - 1) * stride + (k - 1) * far + 1
        for count, stride, k, far in zip(counts, strides, attributes.kernel, dilation, strict=True)
    ]
    after = [
        max(padding[rank + axis], ends[axis] - padding[axis] - image[axis]) for axis in range(rank)
    ]
    before = padding[:rank]
    return _Windows(image, attributes.kernel, strides, dilation, before, tuple(after), counts)


def _flat(term: Term) -> Term:
    """A result with its windows along one axis, and one for the elements of each."""
    batch, channels, *counts = term.type.static_shape("the result of a pooling")
    return reshaped(term, (batch, channels, 1, prod(counts)))


def _spread(windows: _Windows, gradient: Term) -> Term:
    """The sum of the gradients of all windows that an element is in."""
    batch, channels, *_ = gradient.type.static_shape("a gradient")
    shape = (batch, channels, windows.size, prod(windows.counts))
    return windows.images(apply("expand", _flat(gradient), shape=shape), channels)


def max_pool_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Each window's gradient to the first of its greatest elements."""
    windows = _windows(query, attributes)
    columns = windows.columns(query.data, float("-inf"))
    first = apply("arg_max", columns, axis=2)
    numbers = columns.constant(np.arange(windows.size).reshape(1, 1, -1, 1))
    chosen = where(apply("equal", first, numbers), _flat(query.gradient), 0.0)
    return [windows.images(chosen, query.data.type.static_shape("an image")[1])]


def average_pool_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Each window's gradient, divided by the number of its elements, to all of these."""
    windows = _windows(query, attributes)
    counts = []
    for axis, extent in enumerate(windows.image):
        low, high = windows.before[axis], windows.before[axis] + extent
        if attributes.count_include_pad:
            # Elements beyond the padding that is asked for never count.
            padding = attributes.padding or (0, 0) * len(windows.image)
            low, high = 0, high + padding[len(windows.image) + axis]
        places = windows.positions(axis)
        counts.append(((low <= places) & (places < high)).sum(axis=1))
    gradient = query.gradient
    sizes = reduce(np.multiply.outer, counts).astype(gradient.type.dtype.numpy)
    share = gradient / gradient.constant(sizes)
    return [_spread(windows, share)]


def lp_pool_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """|x|**(p - 1) * sign(x), times the sum of g * y**(1 - p) of all windows; slope 0 where y is
    0."""
    windows, p = _windows(query, attributes), attributes.p
    x, y, gradient = query.data, query.result, query.gradient
    if p == 1:
        return [apply("sign", x) * _spread(windows, gradient)]
    power = y if p == 2 else apply("power", y, float(p - 1))
    share = where(apply("equal", y, 0.0), 0.0, gradient / power)
    slope = x if p == 2 else apply("sign", x) * apply("power", apply("absolute", x), float(p - 1))
    return [slope * _spread(windows, share)]


def col2im_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The windows of the gradient."""
    rank = len(attributes.image)
    before, after = attributes.padding[:rank], attributes.padding[rank:]
    counts = tuple(
        (extent + first + last - far * (k - 1) - 1) // stride + 1
        for extent, first, last, far, k, stride in zip(
            attributes.image,
            before,
            after,
            attributes.dilation,
            attributes.kernel,
            attributes.strides,
            strict=True,
        )
    )
    windows = _Windows(
        attributes.image,
        attributes.kernel,
        attributes.strides,
        attributes.dilation,
        before,
        after,
        counts,
    )
    return [reshaped(windows.columns(query.gradient), query.data.type.shape)]


__all__ = [
    "average_pool_gradient",
    "col2im_gradient",
    "lp_pool_gradient",
    "max_pool_gradient",
]

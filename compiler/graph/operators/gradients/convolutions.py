"""Gradients of convolutions, which are convolutions."""

from __future__ import annotations

from typing import Any

from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.shaping import (
    flipped,
    padded,
    reshaped,
    stretched,
    total,
    transposed,
)
from tandem.compiler.graph.terms import Term, apply


def conv2d_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Gradients of image, weights and bias.

    That of the image is a convolution of the gradient, with zeros between where the window moved by
    more than a pixel, with turned weights whose input and output channels have changed places. That
    of the weights is a convolution of the image with the gradient as its window: the stride is the
    dilation and the other way round, and images are summed as channels are.
    """
    dtype = query.gradient.type.dtype
    data, weight, *bias = query.operands
    gradient = query.gradient
    of_data = _of_image(data.with_dtype(dtype), weight.with_dtype(dtype), gradient, attributes)
    of_weight = _of_weight(data.with_dtype(dtype), weight.with_dtype(dtype), gradient, attributes)
    return [
        of_data.with_dtype(data.type.dtype) if query.wanted[0] else None,
        of_weight.with_dtype(weight.type.dtype) if query.wanted[1] else None,
        *(total(gradient, (0, 2, 3), keepdims=False) for _ in bias),
    ]


def _of_image(data: Term, weight: Term, gradient: Term, attributes: Any) -> Term:
    outputs, inputs, *kernel = weight.type.static_shape("the weights of a convolution")
    extents = data.type.static_shape("the image of a convolution")[2:]
    groups = attributes.groups
    turned = flipped(weight, (2, 3))
    if groups == 1:
        turned = transposed(turned, (1, 0, 2, 3))
    else:
        apart = reshaped(turned, (groups, outputs // groups, inputs, *kernel))
        turned = reshaped(
            transposed(apart, (0, 2, 1, 3, 4)), (groups * inputs, outputs // groups, *kernel)
        )
    apart = stretched(gradient, (1, 1, *attributes.strides))
    reach = [dilation * (k - 1) for dilation, k in zip(attributes.dilation, kernel, strict=True)]
    before = [span - pad for span, pad in zip(reach, attributes.padding, strict=False)]
    # As many after as the image has elements: those that no window reached are zeros.
    rows = apart.type.static_shape("a gradient")[2:]
    after = [
        extent + span - row - first
        for extent, span, row, first in zip(extents, reach, rows, before, strict=True)
    ]
    padding = [max(each, 0) for each in (*before, *after)]
    cut = [min(each, 0) for each in (*before, *after)]
    image = padded(apart, (0, 0, *cut[:2]), (0, 0, *cut[2:]))
    return apply(
        "conv2d",
        image,
        turned,
        padding=tuple(padding),
        dilation=attributes.dilation,
        groups=groups,
    )


def _of_weight(data: Term, weight: Term, gradient: Term, attributes: Any) -> Term:
    outputs, inputs, *kernel = weight.type.static_shape("the weights of a convolution")
    batch, _, *extents = data.type.static_shape("the image of a convolution")
    groups = attributes.groups
    rows = gradient.type.static_shape("a gradient")[2:]
    # Images take the place of channels, and channels within a group that of images.
    image = reshaped(data, (batch, groups, inputs, *extents))
    image = reshaped(transposed(image, (2, 1, 0, 3, 4)), (inputs, groups * batch, *extents))
    window = transposed(gradient, (1, 0, 2, 3))
    # Elements at the end that no window reached are left out.
    spans = [
        (count - 1) * stride + dilation * (k - 1) + 1
        for count, stride, dilation, k in zip(
            rows, attributes.strides, attributes.dilation, kernel, strict=True
        )
    ]
    top = attributes.padding[:2]
    after = [span - extent - first for span, extent, first in zip(spans, extents, top, strict=True)]
    image = padded(image, (0, 0, 0, 0), (0, 0, *(min(each, 0) for each in after)))
    found = apply(
        "conv2d",
        image,
        window,
        strides=attributes.dilation,
        dilation=attributes.strides,
        padding=(*top, *(max(each, 0) for each in after)),
        groups=groups,
    )
    assert found.type.shape == (inputs, outputs, *kernel), "a window of the weights' shape"
    return transposed(found, (1, 0, 2, 3))

"""Gradients of the scales of quantised numbers, which are integers and have none; and of numbers
that are rounded as quantised ones."""

from __future__ import annotations

from typing import Any

from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.shaping import reshaped, total
from tandem.compiler.graph.terms import Term, apply, where


def dequantise_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Of the scale: the sum of g * (data - zero point), of each channel if there are several."""
    data, scale, zero_point = query.operands
    gradient = query.gradient
    rank = data.type.rank
    several = scale.type.shape not in ((), (1,))
    axis = attributes.axis % rank if several else 0

    def along(term: Term) -> Term:
        if term.type.shape in ((), (1,)):
            return reshaped(term, ())
        return apply("unsqueeze", term, axes=tuple(n for n in range(rank) if n != axis))

    dtype = gradient.type.dtype
    steps = data.with_dtype(dtype) - along(zero_point.with_dtype(dtype))
    axes = tuple(each for each in range(rank) if not several or each != axis)
    sums = total(gradient * steps, axes, keepdims=False)
    return [None, reshaped(sums, scale.type.shape), None]


def fake_quantise_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Straight through (Bengio, Leonard and Courville, 2013), where numbers are not clipped."""
    data, scale = query.operands
    rounded = apply("round_even", data / scale)
    beneath = apply("less", rounded, float(attributes.low))
    beyond = apply("greater", rounded, float(attributes.high))
    return [where(apply("logical_or", beneath, beyond), 0.0, query.gradient), None]


def fake_encode_gradient(query: GradientQuery, _: Any) -> Gradients:
    """Straight through, for weights beyond the table's ends too: else they would stay there."""
    return [query.gradient, None]

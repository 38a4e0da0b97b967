"""Gradients of the scales of quantised numbers; the numbers are integers, and have none."""

from __future__ import annotations

from typing import Any

from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.shaping import reshaped, total
from tandem.compiler.graph.terms import Term, apply


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

"""Gradients of softmax and of normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.shaping import mean, summed_to, total
from tandem.compiler.graph.terms import Term, apply


def softmax_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """y * (g - the sum of g * y)."""
    y, gradient = query.result, query.gradient
    axis = attributes.axis % y.type.rank
    return [y * (gradient - total(gradient * y, (axis,)))]


def log_softmax_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """g - softmax(x) * the sum of g."""
    axis = attributes.axis % query.result.type.rank
    return [query.gradient - apply("exp", query.result) * total(query.gradient, (axis,))]


def _by_channel(term: Term, rank: int) -> Term:
    """A number for each channel, as a tensor with axis 1 there."""
    return apply("unsqueeze", term, axes=(0, *range(2, rank)))


def batch_norm_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Gradients in the data and in all statistics, which are operands."""
    data, scale, _, centre, variance = query.operands
    gradient, rank = query.gradient, query.data.type.rank
    beside = (0, *range(2, rank))
    wide = variance + attributes.epsilon
    factor = scale / apply("sqrt", wide)
    centred = data - _by_channel(centre, rank)
    sums = total(gradient, beside, keepdims=False)
    weighted = total(gradient * centred, beside, keepdims=False)
    return [
        gradient * _by_channel(factor, rank),
        weighted / apply("sqrt", wide),
        sums,
        -(sums * factor),
        weighted * factor * -0.5 / wide,
    ]


def _standardised(
    data: Term, scaled: Term, axes: Sequence[int], epsilon: float, centre: bool
) -> tuple[Term, Term]:
    """The normalised data, and the gradient of the data from that of the normalised."""
    centred = data - mean(data, axes) if centre else data
    factor = 1.0 / apply("sqrt", mean(centred * centred, axes) + epsilon)
    normal = centred * factor
    along = scaled - normal * mean(scaled * normal, axes)
    if centre:
        along = along - mean(scaled, axes)
    return normal, along * factor


def layer_norm_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Of data, scale, and bias if there is one."""
    return _last_axes(query, attributes, True)


def rms_norm_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Of data and scale."""
    return _last_axes(query, attributes, False)


def _last_axes(query: GradientQuery, attributes: Any, centre: bool) -> Gradients:
    data, scale, *bias = query.operands
    rank = data.type.rank
    axes = range(attributes.axis % rank, rank)
    gradient = query.gradient
    normal, of_data = _standardised(data, gradient * scale, axes, attributes.epsilon, centre)
    of_scale = summed_to(gradient * normal, scale.type)
    return [of_data, of_scale, *(summed_to(gradient, each.type) for each in bias)]


def instance_norm_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Of data, and of scale and bias, a number for each channel."""
    data, scale, _ = query.operands
    rank = data.type.rank
    gradient = query.gradient
    scaled = gradient * _by_channel(scale, rank)
    normal, of_data = _standardised(data, scaled, range(2, rank), attributes.epsilon, True)
    beside = (0, *range(2, rank))
    return [
        of_data,
        total(gradient * normal, beside, keepdims=False),
        total(gradient, beside, keepdims=False),
    ]

"""Gradients of activation functions.

At corners: `relu`, `leaky_relu`, `prelu`, `elu`, `selu` and `thresholded_relu` have the slope from
below, `hard_sigmoid` and `hard_swish` that of their flat sides; `shrink` is flat at `lambd`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from tandem.compiler.graph.gradient_query import GradientQuery, GradientRule, Gradients
from tandem.compiler.graph.terms import Term, apply, where
from tandem.compiler.operators.activations import GeluForm


def _above(x: Term, bound: float = 0.0) -> Term:
    return apply("greater", x, bound)


def _exp_below(x: Term) -> Term:
    """e**x up to 0, and 1 above, where it might overflow."""
    return apply("exp", apply("minimum", x, 0.0))


def _sigmoid(x: Term) -> Term:
    return apply("sigmoid", x)


def _piece(slope: Callable[[Term, Term, Any], Term]) -> GradientRule:
    """The rule from the product of a gradient and the slope at x."""

    def rule(query: GradientQuery, attributes: Any) -> Gradients:
        return [slope(query.data, query.gradient, attributes)]

    return rule


def _prelu(query: GradientQuery, _: object) -> Gradients:
    (x, slope), gradient = query.operands, query.gradient
    above = _above(x)
    return [where(above, gradient, gradient * slope), where(above, 0.0, gradient * x)]


def _gelu(x: Term, gradient: Term, attributes: Any) -> Term:
    if attributes.approximate is GeluForm.NONE:
        density = apply("exp", x * x * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))
        below = (apply("erf", x * math.sqrt(0.5)) + 1.0) * 0.5
        return gradient * (below + x * density)
    root = math.sqrt(2.0 / math.pi)
    t = apply("tanh", (x + x * x * x * 0.044715) * root)
    inner = (x * x * (3.0 * 0.044715) + 1.0) * root
    return gradient * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * inner * 0.5)


def _hard_sigmoid(x: Term, gradient: Term, attributes: Any) -> Term:
    line = x * attributes.alpha + attributes.beta
    inside = apply("logical_and", _above(line), apply("less", line, 1.0))
    return where(inside, gradient * attributes.alpha, 0.0)


def _hard_swish(x: Term, gradient: Term, _: Any) -> Term:
    slope = where(_above(x, -3.0), x / 3.0 + 0.5, 0.0)
    return gradient * where(apply("less", x, 3.0), slope, 1.0)


def _mish(x: Term, gradient: Term, _: Any) -> Term:
    t = apply("tanh", apply("softplus", x))
    return gradient * (t + x * _sigmoid(x) * (1.0 - t * t))


def _swish(x: Term, gradient: Term, attributes: Any) -> Term:
    scaled = x * attributes.alpha
    s = _sigmoid(scaled)
    return gradient * (s + scaled * s * (1.0 - s))


def _softsign(x: Term, gradient: Term, _: Any) -> Term:
    size = apply("absolute", x) + 1.0
    return gradient / (size * size)


def _selu(x: Term, gradient: Term, attributes: Any) -> Term:
    below = _exp_below(x) * (attributes.gamma * attributes.alpha)
    return gradient * where(_above(x), attributes.gamma, below)


ACTIVATIONS: Final[Mapping[str, GradientRule]] = MappingProxyType(
    {
        "prelu": _prelu,
        "sigmoid": lambda query, _: [query.gradient * query.result * (1.0 - query.result)],
        **{
            name: _piece(slope)
            for name, slope in {
                "celu": lambda x, g, a: g * apply("exp", where(_above(x), 0.0, x / a.alpha)),
                "elu": lambda x, g, a: where(_above(x), g, g * _exp_below(x) * a.alpha),
                "gelu": _gelu,
                "hard_sigmoid": _hard_sigmoid,
                "hard_swish": _hard_swish,
                "leaky_relu": lambda x, g, a: where(_above(x), g, g * a.alpha),
                "mish": _mish,
                "relu": lambda x, g, _: where(_above(x), g, 0.0),
                "selu": _selu,
                "shrink": lambda x, g, a: where(_above(apply("absolute", x), a.lambd), g, 0.0),
                "softplus": lambda x, g, _: g * _sigmoid(x),
                "softsign": _softsign,
                "swish": _swish,
                "thresholded_relu": lambda x, g, a: where(_above(x, a.alpha), g, 0.0),
            }.items()
        },
    }
)
"""Rules by the operator's name, whose gradients have the result's shape."""

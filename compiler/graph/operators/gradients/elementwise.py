"""Gradients of element-wise arithmetic.

At corners and ties: `absolute` has slope 0 at 0; `maximum` and `minimum` share a gradient between
equal operands; `clip` passes it on at its bounds; the slope of `power` is 0 where the exponent is
0, and in the exponent where the base is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any, Final

from tandem.compiler.graph.gradient_query import (
    GradientQuery,
    GradientRule,
    Gradients,
    constant_gradient,
    gradient_dtype,
)
from tandem.compiler.graph.operators.gradients.activations import ACTIVATIONS
from tandem.compiler.graph.operators.gradients.quantised import (
    fake_encode_gradient,
    fake_quantise_gradient,
)
from tandem.compiler.graph.operators.gradients.shaping import summed_to
from tandem.compiler.graph.terms import Term, apply, where


def of_one(slope: Callable[[Term, Term], Term]) -> GradientRule:
    """The rule of a function of one operand, from its slope at an operand with a result."""

    def rule(query: GradientQuery, _: object) -> Gradients:
        return [query.gradient * slope(query.data, query.result)]

    return rule


def broadcast_rule(rule: GradientRule) -> GradientRule:
    """The rule for operands that broadcast, from one that gives gradients of the result's shape."""

    def summed(query: GradientQuery, attributes: Any) -> Gradients:
        return [
            None if found is None else summed_to(found, operand.type)
            for found, operand in zip(rule(query, attributes), query.operands, strict=True)
        ]

    return summed


def _add(query: GradientQuery, _: object) -> Gradients:
    return [query.gradient] * len(query.operands)


def _subtract(query: GradientQuery, _: object) -> Gradients:
    return [query.gradient, -query.gradient]


def _multiply(query: GradientQuery, _: object) -> Gradients:
    a, b = query.operands
    return [query.gradient * b, query.gradient * a]


def _divide(query: GradientQuery, _: object) -> Gradients:
    b = query.operands[1]
    share = query.gradient / b
    return [share, -(share * query.result)]


def _modulo(query: GradientQuery, _: object) -> Gradients:
    a, b = query.operands
    quotient = apply("round_even", (a - query.result) / b)
    return [query.gradient, -(query.gradient * quotient)]


def _power(query: GradientQuery, _: object) -> Gradients:
    a, exponent = query.operands
    b = exponent.with_dtype(a.type.dtype)
    base = where(apply("equal", b, 0.0), 0.0, b * apply("power", a, b - 1.0))
    rise = None
    if query.wanted[1]:
        # The logarithm of 0 times 0 would be no number.
        slope = query.result * apply("log", a)
        rise = query.gradient * where(apply("equal", a, 0.0), 0.0, slope)
        rise = rise.with_dtype(exponent.type.dtype)
    return [query.gradient * base, rise]


def _extreme(query: GradientQuery, _: object) -> Gradients:
    gradient = query.gradient
    masks = [
        apply("equal", operand, query.result).with_dtype(gradient.type.dtype)
        for operand in query.operands
    ]
    if len(masks) == 1:
        return [gradient]
    share = gradient / reduce(lambda a, b: a + b, masks)
    return [share * mask for mask in masks]


def _mean(query: GradientQuery, _: object) -> Gradients:
    count = len(query.operands)
    return [query.gradient / count] * count


def _clip(query: GradientQuery, attributes: Any) -> Gradients:
    x, gradient = query.data, query.gradient
    if attributes.min is not None:
        gradient = where(apply("less", x, attributes.min), 0.0, gradient)
    if attributes.max is not None:
        gradient = where(apply("greater", x, attributes.max), 0.0, gradient)
    if None not in (attributes.min, attributes.max) and attributes.max < attributes.min:
        return [None]
    return [gradient]


def _identity(query: GradientQuery, _: object) -> Gradients:
    return [query.gradient]


def _cast(query: GradientQuery, _: object) -> Gradients:
    dtype = gradient_dtype(query.data.type.dtype)
    return [None if dtype is None else query.gradient.with_dtype(dtype)]


def _where(query: GradientQuery, _: object) -> Gradients:
    condition, gradient = query.operands[0], query.gradient
    return [None, where(condition, gradient, 0.0), where(condition, 0.0, gradient)]


def _inverse_root(square: Term) -> Term:
    return 1.0 / apply("sqrt", square)


_SLOPES: Final[Mapping[str, Callable[[Term, Term], Term]]] = MappingProxyType(
    {
        "absolute": lambda x, _: apply("sign", x),
        "acos": lambda x, _: -_inverse_root((1.0 - x) * (1.0 + x)),
        "acosh": lambda x, _: _inverse_root(x - 1.0) * _inverse_root(x + 1.0),
        "asin": lambda x, _: _inverse_root((1.0 - x) * (1.0 + x)),
        "asinh": lambda x, _: _inverse_root(x * x + 1.0),
        "atan": lambda x, _: 1.0 / (x * x + 1.0),
        "atanh": lambda x, _: 1.0 / ((1.0 - x) * (1.0 + x)),
        "cos": lambda x, _: -apply("sin", x),
        "cosh": lambda x, _: apply("sinh", x),
        "erf": lambda x, _: apply("exp", -(x * x)) * (2.0 / math.sqrt(math.pi)),
        "exp": lambda _, y: y,
        "log": lambda x, _: 1.0 / x,
        "reciprocal": lambda _, y: -(y * y),
        "sin": lambda x, _: apply("cos", x),
        "sinh": lambda x, _: apply("cosh", x),
        "sqrt": lambda _, y: 0.5 / y,
        "tan": lambda _, y: y * y + 1.0,
        "tanh": lambda _, y: 1.0 - y * y,
    }
)

RULES: Final[Mapping[str, GradientRule]] = MappingProxyType(
    {
        name: broadcast_rule(rule)
        for name, rule in {
            **{name: of_one(slope) for name, slope in _SLOPES.items()},
            **ACTIVATIONS,
            **dict.fromkeys(("add", "total"), _add),
            **dict.fromkeys(("maximum", "minimum"), _extreme),
            "cast": _cast,
            "clip": _clip,
            "divide": _divide,
            "fake_encode": fake_encode_gradient,
            "fake_quantise": fake_quantise_gradient,
            "identity": _identity,
            "mean": _mean,
            "modulo": _modulo,
            "multiply": _multiply,
            "negative": lambda query, _: [-query.gradient],
            "power": _power,
            "subtract": _subtract,
            "where": _where,
        }.items()
    }
    | dict.fromkeys(
        ("ceil", "floor", "round_even", "sign", "stop_gradient"),
        constant_gradient,
    )
)
"""Rules by the operator's name."""

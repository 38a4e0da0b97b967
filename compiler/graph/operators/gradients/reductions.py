"""Gradients of reductions, and of products and sums up to each position.

At ties: `reduce_max` and `reduce_min` share a gradient evenly between equal elements; the norm
`reduce_l2` has slope 0 at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from tandem.compiler.graph.extents import Extent
from tandem.compiler.graph.gradient_query import GradientQuery, GradientRule, Gradients
from tandem.compiler.graph.operators.gradients.shaping import (
    broadcast_to,
    count_along,
    kept,
    moved,
    reduced_axes,
    reshaped,
    total,
    transposed,
)
from tandem.compiler.graph.terms import Term, apply, where

_Slope: TypeAlias = Callable[[Term, Term, Term, tuple[int, ...]], Term]
"""The gradient of x, from x, the result and its gradient with the reduced axes, and these axes."""


def _reduction(slope: _Slope) -> GradientRule:
    def rule(query: GradientQuery, attributes: Any) -> Gradients:
        axes = reduced_axes(query.data.type.rank, attributes.axes)
        return [_along(query, slope, axes, attributes.keepdims)]

    return rule


def _along(query: GradientQuery, slope: _Slope, axes: tuple[int, ...], keepdims: bool) -> Term:
    x = query.data
    result, gradient = (
        kept(term, x.type.rank, axes, keepdims) for term in (query.result, query.gradient)
    )
    return broadcast_to(slope(x, result, gradient, axes), x)


def _mean(x: Term, _: Term, gradient: Term, axes: tuple[int, ...]) -> Term:
    return gradient / count_along(x, axes)


def _extreme(x: Term, result: Term, gradient: Term, axes: tuple[int, ...]) -> Term:
    mask = apply("equal", x, result).with_dtype(x.type.dtype)
    return mask * (gradient / total(mask, axes))


def _norm(x: Term, result: Term, gradient: Term, _: tuple[int, ...]) -> Term:
    return x * where(apply("equal", result, 0.0), 0.0, gradient / result)


def _product(x: Term, _: Term, gradient: Term, axes: tuple[int, ...]) -> Term:
    """Times the product of the others: of those before and those after."""
    rest = [axis for axis in range(x.type.rank) if axis not in axes]
    order = (*rest, *axes)
    apart = transposed(x, order)
    whole = apart.type.static_shape("the operand of a product")
    rows = reshaped(apart, (*whole[: len(rest)], int(np.prod(whole[len(rest) :]))))
    before, after = (
        apply("cumulative_product", rows, axis=len(rest), exclusive=True, reverse=reverse)
        for reverse in (False, True)
    )
    others = reshaped(before * after, whole)
    return gradient * transposed(others, tuple(int(each) for each in np.argsort(order)))


def global_average_gradient(query: GradientQuery, _: object) -> Gradients:
    """The mean's, along the spatial axes."""
    return [_along(query, _mean, tuple(range(2, query.data.type.rank)), True)]


def global_max_gradient(query: GradientQuery, _: object) -> Gradients:
    """The maximum's, along the spatial axes: shared evenly between equal elements."""
    return [_along(query, _extreme, tuple(range(2, query.data.type.rank)), True)]


def cumulative_sum_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The sum from the other end."""
    return [
        apply(
            "cumulative_sum",
            query.gradient,
            axis=attributes.axis,
            exclusive=attributes.exclusive,
            reverse=not attributes.reverse,
        )
    ]


def cumulative_product_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """The sum, over all results that an element is in, of the gradient times the product of the
    others in it: in a row for each element, with 1 in its place. The work is the square of the
    axis' extent."""
    rank = query.data.type.rank
    axis = attributes.axis % rank
    x, gradient = (moved(each, axis, rank - 1) for each in (query.data, query.gradient))
    extent = _number(query, x.type.shape[-1])
    without = where(
        x.constant(np.eye(extent, dtype=bool)), 1.0, apply("unsqueeze", x, axes=(rank - 1,))
    )
    products = apply(
        "cumulative_product",
        without,
        axis=rank,
        exclusive=attributes.exclusive,
        reverse=attributes.reverse,
    )
    own, place = np.mgrid[:extent, :extent]
    after = own > place if attributes.reverse else own < place
    part_of = after if attributes.exclusive else after | (own == place)
    shares = apply("unsqueeze", gradient, axes=(rank - 1,)) * products
    found = total(where(x.constant(part_of), shares, 0.0), (rank,), keepdims=False)
    return [moved(found, rank - 1, axis)]


def _number(query: GradientQuery, extent: Extent) -> int:
    if not isinstance(extent, int):
        query.fail(f"the extent {extent} has to be a number: bind symbols first")
    return extent


REDUCTIONS: Final[Mapping[str, GradientRule]] = MappingProxyType(
    {
        name: _reduction(slope)
        for name, slope in {
            "reduce_l1": lambda x, y, g, axes: g * apply("sign", x),
            "reduce_l2": _norm,
            "reduce_log_sum": lambda x, y, g, axes: g / total(x, axes),
            "reduce_log_sum_exp": lambda x, y, g, axes: g * apply("exp", x - y),
            "reduce_max": _extreme,
            "reduce_mean": _mean,
            "reduce_min": _extreme,
            "reduce_prod": _product,
            "reduce_sum": lambda x, y, g, axes: g,
            "reduce_sum_square": lambda x, y, g, axes: x * g * 2.0,
        }.items()
    }
)
"""Rules by the operator's name."""

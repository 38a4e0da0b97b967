"""Gradients of operators that find or change elements at positions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.indexing import added_along, within
from tandem.compiler.graph.operators.gradients.shaping import (
    reshaped,
    total,
    zeros_like,
)
from tandem.compiler.graph.terms import Term, apply, where
from tandem.compiler.operators.scatter import ScatterReduction


def gather_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Each slice's gradient added where the slice came from."""
    data, indices = query.operands
    shape = data.type.static_shape("the data of a gather")
    axis = attributes.axis % len(shape)
    count = prod(indices.type.static_shape("the indices of a gather"))
    rows = reshaped(query.gradient, (*shape[:axis], count, *shape[axis + 1 :]))
    return [added_along(rows, axis, reshaped(indices, (count,)), shape[axis]), None]


def gather_elements_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Each element's gradient added where the element came from."""
    data, indices = query.operands
    shape = data.type.static_shape("the data of gather_elements")
    axis = attributes.axis % len(shape)
    places = within(indices, shape[axis])
    zeros = _zeros(query.gradient, shape)
    add = ScatterReduction.ADD
    found = apply("scatter_elements", zeros, places, query.gradient, axis=axis, reduction=add)
    return [found, None]


def gather_nd_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Each slice's gradient added where the slice came from."""
    data, indices = query.operands
    shape = data.type.static_shape("the data of gather_nd")
    outer = indices.type.static_shape("the indices of gather_nd")[:-1]
    batch = attributes.batch_dims
    depth = indices.type.static_shape("the indices of gather_nd")[-1]
    last = len(outer)
    columns = [
        indices.constant(
            np.broadcast_to(np.arange(outer[axis]).reshape(-1, *[1] * (last - axis)), (*outer, 1))
        )
        for axis in range(batch)
    ]
    columns += [within(_column(indices, number), shape[batch + number]) for number in range(depth)]
    places = columns[0] if len(columns) == 1 else apply("concat", *columns, axis=last)
    zeros, add = _zeros(query.gradient, shape), ScatterReduction.ADD
    return [apply("scatter_nd", zeros, places, query.gradient, reduction=add), None]


def _column(indices: Term, number: int) -> Term:
    axis = indices.type.rank - 1
    return apply("slice", indices, starts=(number,), ends=(number + 1,), axes=(axis,))


def _zeros(gradient: Term, shape: tuple[int, ...]) -> Term:
    return apply("expand", gradient.scalar(0), shape=shape)


def one_hot_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Of the two values: the sums of the gradient where they are."""
    indices, _ = query.operands
    gradient = query.gradient
    ones = gradient.constant(np.array([0, 1], gradient.type.dtype.numpy))
    marks = apply("one_hot", indices, ones, depth=attributes.depth, axis=attributes.axis)
    axes = tuple(range(gradient.type.rank))
    on = total(gradient * marks, axes, keepdims=False)
    off = total(gradient * (1.0 - marks), axes, keepdims=False)
    pair = [reshaped(each, (1,)) for each in (off, on)]
    return [None, apply("concat", *pair, axis=0)]


def put_row_gradient(query: GradientQuery, _: object) -> Gradients:
    """Of the data: zeros in the row that was replaced. Of the row: the gradient there, if it is
    one."""
    data, row, index = query.operands
    gradient = query.gradient
    rows = data.type.static_shape("the data of put_row")[0]
    inside = apply("logical_and", apply("less", index, rows), apply("greater_or_equal", index, 0))
    there = apply("gather", gradient, apply("clip", index, min=0, max=max(rows - 1, 0)), axis=0)
    zeros = zeros_like(row.with_dtype(gradient.type.dtype))
    return [apply("put_row", gradient, zeros, index), where(inside, there, 0.0), None]


def scatter_elements_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Of the data: zeros where updates replaced it. Of the updates: the gradient where they are;
    of several that replace one element, the last has it."""
    data, indices, _ = query.operands
    gradient, axis = query.gradient, attributes.axis
    _check_reduction(query, attributes.reduction)
    own = apply("gather_elements", gradient, indices, axis=axis)
    extent = data.type.static_shape("the data of scatter_elements")[axis]
    mask = _in_range(indices, extent)
    if attributes.reduction is ScatterReduction.ADD:
        return [gradient, None, where(mask, own, 0.0)]
    zeros = zeros_like(own)
    of_data = apply("scatter_elements", gradient, indices, zeros, axis=axis)
    numbers, writers = _numbered(indices.type.static_shape("indices"), data)
    winners = apply("scatter_elements", writers, indices, numbers, axis=axis)
    last = apply("equal", apply("gather_elements", winners, indices, axis=axis), numbers)
    return [of_data, None, where(apply("logical_and", mask, last), own, 0.0)]


def scatter_nd_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """As that of `scatter_elements`, for slices."""
    data, indices, updates = query.operands
    gradient = query.gradient
    _check_reduction(query, attributes.reduction)
    shape = data.type.static_shape("the data of scatter_nd")
    *outer, depth = indices.type.static_shape("the indices of scatter_nd")
    own = apply("gather_nd", gradient, indices)
    inside = _in_range(_column(indices, 0), shape[0])
    for number in range(1, depth):
        column = _in_range(_column(indices, number), shape[number])
        inside = apply("logical_and", inside, column)
    mask = reshaped(inside, (*outer, *(1 for _ in shape[depth:])))
    if attributes.reduction is ScatterReduction.ADD:
        return [gradient, None, where(mask, own, 0.0)]
    of_data = apply("scatter_nd", gradient, indices, zeros_like(own))
    numbers, writers = _numbered(updates.type.static_shape("updates"), data)
    winners = apply("scatter_nd", writers, indices, numbers)
    last = apply("equal", apply("gather_nd", winners, indices), numbers)
    return [of_data, None, where(apply("logical_and", mask, last), own, 0.0)]


def _numbered(shape: tuple[int, ...], data: Term) -> tuple[Term, Term]:
    """A number for each update, and none for each element of the data: who wrote it."""
    numbers = data.constant(np.arange(prod(shape)).reshape(shape))
    none = data.constant(np.array(-1))
    return numbers, apply("expand", none, shape=data.type.static_shape("the data of a scatter"))


def _in_range(indices: Term, extent: int) -> Term:
    low = apply("greater_or_equal", indices, -extent)
    return apply("logical_and", low, apply("less", indices, extent))


def _check_reduction(query: GradientQuery, reduction: ScatterReduction) -> None:
    if reduction not in (ScatterReduction.NONE, ScatterReduction.ADD):
        query.fail(
            f"its reduction is {reduction.value}: with none or add there is one; or its operands "
            "can be kept constant by stop_gradient"
        )


__all__ = [
    "gather_elements_gradient",
    "gather_gradient",
    "gather_nd_gradient",
    "one_hot_gradient",
    "put_row_gradient",
    "scatter_elements_gradient",
    "scatter_nd_gradient",
]

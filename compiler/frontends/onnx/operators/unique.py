"""The distinct elements of a tensor, or its distinct slices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.selection import positions
from tandem.compiler.frontends.onnx.values import NO_COUNTS, Value
from tandem.compiler.graph.operators.indexed import Cumulative, ScatterElements, TopK
from tandem.compiler.graph.operators.parts import Concat, Gather, Slice
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import Transpose
from tandem.compiler.ir.dtypes import BOOL, INT64, UINT8

_COLUMNS = 256
"""The maximum number of elements of a slice: there are as many sorts."""


def _unique(node: Node) -> tuple[Value, ...]:
    data = node.input(0)
    axis: int | None = None
    if "axis" in node.given():
        (axis,) = node.axes([node.integer("axis")], data)
        axis %= data.rank
    if data.known is not None and data.known.dtype != object:
        return _of_known(node, data, axis)
    flat = node.reshape(data, (-1,)) if axis is None else data
    along = axis or 0
    count = node.extent(along, flat)
    if not all(flat.type.static_shape("the operand")):
        node.unsupported(f"{data.type} without elements")
    rows = _as_rows(node, flat, along)
    groups = _grouped(node, rows)
    if not node.integer("sorted"):
        groups = _by_first(node, groups, count)
    found = node.call("gather", flat, groups.first, to=Gather(along))
    size = node.count(groups.count, 0)
    return (
        replace(found, counts={along: size}),
        replace(groups.first, counts={0: size}),
        groups.inverse,
        replace(groups.sizes, counts={0: size}),
    )


def _of_known(node: Node, value: Value, axis: int | None) -> tuple[Value, ...]:
    """The results for a tensor that is known at import."""
    data = value.known
    assert data is not None
    if data.dtype.kind == "f" and np.isnan(data).any():
        node.unsupported("NaN among the elements")
    rows = data.reshape(-1) if axis is None else np.moveaxis(data, axis, 0)
    _, first, inverse, counts = np.unique(rows, True, True, True, axis=0)
    inverse = inverse.reshape(-1)
    if not node.integer("sorted"):
        order = np.argsort(first)
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        first, inverse, counts = first[order], position[inverse], counts[order]
    found = rows[first] if axis is None else np.moveaxis(rows[first], 0, axis)
    arrays = (
        np.ascontiguousarray(found),
        *(each.astype(np.int64) for each in (first, inverse, counts)),
    )
    return tuple(map(node.constant, arrays))


def _as_rows(node: Node, data: Value, axis: int) -> Value:
    """The slices along an axis as rows [count, elements] of numbers that can be sorted."""
    order = (axis, *(each for each in range(data.rank) if each != axis))
    moved = node.call("transpose", data, to=Transpose(order)) if axis else data
    rows = node.reshape(moved, (node.extent(axis, data), -1))
    return node.cast(rows, UINT8) if rows.dtype == BOOL else rows


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of equal rows.

    Attributes
    ----------
    count
        The number of groups, a scalar.
    first, sizes
        By group: its first row, and its number of rows; with padding.
    inverse
        By row: its group.
    """

    count: Value
    first: Value
    sizes: Value
    inverse: Value


def _grouped(node: Node, rows: Value) -> _Groups:
    """The groups in ascending order of their rows."""
    count, columns = rows.type.static_shape("rows")
    if columns > _COLUMNS:
        node.unsupported(f"slices of {columns} elements that depend on inputs: {_COLUMNS} at most")
    order = node.constant(np.arange(count, dtype=np.int64))
    # Stable sorts by each column, from the last on, sort rows by the first column in which they
    # differ.
    for column in reversed(range(columns)):
        keys = node.call("gather", rows, node.number(column, order), to=Gather(1))
        keys = node.call("gather", keys, order, to=Gather())
        by_key = node.call("top_k", keys, to=TopK(count, 0, False))
        order = node.call("gather", order, by_key, to=Gather())
    begins = _begins(node, node.call("gather", rows, order, to=Gather()))
    starts = positions(node, begins, 0)
    size = starts.counts[0].size
    starts = replace(starts, counts=NO_COUNTS)
    places = node.constant(np.arange(count, dtype=np.int64))
    whole = node.constant(np.full(1, count, np.int64))
    ends = node.call(
        "concat", node.call("slice", starts, to=Slice((1,), (count,))), whole, to=Concat(0)
    )
    is_last = node.call("equal", places, node.call("subtract", size, node.number(1, size)))
    sizes = node.call("subtract", node.call("where", is_last, whole, ends), starts)
    groups = node.call(
        "subtract",
        node.call("cumulative_sum", node.cast(begins, INT64), to=Cumulative()),
        node.number(1, size),
    )
    inverse = node.call("scatter_elements", order, order, groups, to=ScatterElements())
    return _Groups(size, node.call("gather", order, starts, to=Gather()), sizes, inverse)


def _begins(node: Node, rows: Value) -> Value:
    """Whether a row differs from the one before; NaN equals NaN."""
    count, _ = rows.type.static_shape("rows")
    after = node.call("slice", rows, to=Slice((1,), (count,)))
    before = node.call("slice", rows, to=Slice((0,), (count - 1,)))
    same = node.call("equal", after, before)
    if rows.dtype.is_float:
        neither = node.call("logical_and", node.call("is_nan", after), node.call("is_nan", before))
        same = node.call("logical_or", same, neither)
    differs = node.cast(node.call("logical_not", same), UINT8)
    first = node.constant(np.ones(1, np.uint8))
    others = node.call("reduce_max", differs, to=Reduction((1,), False))
    return node.cast(node.call("concat", first, others, to=Concat(0)), BOOL)


def _by_first(node: Node, groups: _Groups, count: int) -> _Groups:
    """The groups in the order of their first rows."""
    places = node.constant(np.arange(count, dtype=np.int64))
    own = node.call("gather", groups.first, groups.inverse, to=Gather())
    is_first = node.call("equal", own, places)
    first = replace(positions(node, is_first, 0), counts=NO_COUNTS)
    numbers = node.call("cumulative_sum", node.cast(is_first, INT64), to=Cumulative())
    number = node.call("subtract", numbers, node.number(1, numbers))
    inverse = node.call("gather", number, own, to=Gather())
    old = node.call("gather", groups.inverse, first, to=Gather())
    sizes = node.call("gather", groups.sizes, old, to=Gather())
    return _Groups(groups.count, first, sizes, inverse)


CONVERTERS: tuple[Converter, ...] = (
    Converter(
        "Unique",
        (11, 28),
        _unique,
        "of what depends on inputs, results are bounded, and slices have at most "
        f"{_COLUMNS} elements",
    ),
)

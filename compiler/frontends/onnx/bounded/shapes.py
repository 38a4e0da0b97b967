"""Rules of operators that read, cut or change the extents of their operands."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from tandem.compiler.frontends.onnx.bounded.rule import Results
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.parts import bounds
from tandem.compiler.frontends.onnx.values import Count, Counts, Value
from tandem.compiler.graph.operators.parts import Concat
from tandem.compiler.graph.operators.shapes import Unsqueeze


def shape(node: Node, results: Results) -> Results:
    """`Shape`: the counts among the other extents."""
    data, counts = node.input(0), node.counts(0)
    axes = range(data.rank)[node.integer("start", 0) : node.integer("end", data.rank)]
    if not counts.keys() & set(axes):
        return results
    extents = [_extent(node, data, axis, counts) for axis in axes]
    single = [node.call("unsqueeze", each, to=Unsqueeze((0,))) for each in extents]
    return (single[0] if len(single) == 1 else node.call("concat", *single, to=Concat(0)),)


def size(node: Node, _: Results) -> Results:
    """`Size`: the product of all extents."""
    data, counts = node.input(0), node.counts(0)
    total = node.constant(np.array(1, np.int64))
    for axis in range(data.rank):
        total = node.call("multiply", total, _extent(node, data, axis, counts))
    return (total,)


def _extent(node: Node, data: Value, axis: int, counts: Counts) -> Value:
    """The extent along an axis, a scalar of int64."""
    if axis in counts:
        return counts[axis].size
    return node.constant(np.array(node.extent(axis, data), np.int64))


def sliced(node: Node, results: Results) -> Results:
    """`Slice`: forwards and from known starts, which count from the beginning."""
    data, (result,) = node.input(0), results
    to = bounds(node)
    assert to.axes is not None, "`bounds` gives them"
    assert to.steps is not None, "`bounds` gives them"
    cuts = zip(to.axes, to.starts, to.ends, to.steps, strict=True)
    by_axis = {axis % data.rank: cut for axis, *cut in cuts}
    found = {}
    for axis, count in node.counts(0).items():
        start, end, step = by_axis.get(axis, (0, node.extent(axis, data), 1))
        if start < 0 or end < 0 or step != 1:
            node.refuse_bounded(0, axis)
        left = node.call("subtract", count.size, node.constant(np.array(start, np.int64)))
        found[axis] = replace(count, size=_clipped(node, left, node.extent(axis, result)))
    return (replace(result, counts=found),)


def _clipped(node: Node, number: Value, most: int) -> Value:
    """The number, at least 0 and at most `most`."""
    number = node.call("maximum", number, node.constant(np.array(0, np.int64)))
    return node.call("minimum", number, node.constant(np.array(most, np.int64)))


def reshaped(node: Node, results: Results) -> Results:
    """`Reshape`, where the bounded axis stays what it is, or is part of the extent -1."""
    wanted, (result,) = [*(node.extents(1) or ())], results
    (axis, _) = _leading(node)
    if not node.integer("allowzero", 0) and wanted[axis : axis + 1] == [0]:
        return _regrouped(node, result, axis)
    if -1 not in wanted:
        node.refuse_bounded(0, axis)
    return _regrouped(node, result, wanted.index(-1))


def flattened(node: Node, results: Results) -> Results:
    """`Flatten`, where the bounded axis becomes part of the first."""
    (axis, _), (result,), at = _leading(node), results, node.integer("axis")
    if (at + node.input(0).rank if at < 0 else at) <= axis:
        node.refuse_bounded(0, axis)
    return _regrouped(node, result, 0)


def scattered(node: Node, results: Results) -> Results:
    """Scatters, whose converters move the indices of padding out of range."""
    for axis in node.counts(0):
        node.refuse_bounded(0, axis)
    for position, other in ((1, 2), (2, 1)):
        for axis, count in node.counts(position).items():
            if axis not in node.counts(other) or not node.counts(other)[axis].is_same(count):
                node.refuse_bounded(position, axis)
    return results


def _leading(node: Node) -> tuple[int, Count]:
    """The only bounded axis, if all extents before it are 1: padding comes last in memory then."""
    data, counts = node.input(0), node.counts(0)
    axis, count = next(iter(counts.items()))
    if len(counts) > 1 or any(each != 1 for each in data.shape[:axis]):
        node.refuse_bounded(0, axis)
    return axis, count


def _regrouped(node: Node, result: Value, into: int) -> Results:
    """The result of a reshape with a count along its axis `into`."""
    axis, count = _leading(node)
    before = node.input(0).type.static_shape("data")[axis + 1 :]
    after = result.type.static_shape("the result")
    if prod(after[:into]) != 1 or not all(after) or prod(before) % prod(after[into + 1 :]):
        node.refuse_bounded(0, axis)
    rows = node.constant(np.array(prod(before) // prod(after[into + 1 :]), np.int64))
    found = replace(count, size=node.call("multiply", count.size, rows))
    return (replace(result, counts={into: found}),)

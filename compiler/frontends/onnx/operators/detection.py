"""Selection of boxes among overlapping ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.loops import repeat
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.selection import positions, stacked, unravelled
from tandem.compiler.frontends.onnx.values import NO_COUNTS, Array, Value
from tandem.compiler.graph.operators.indexed import Cumulative, TopK
from tandem.compiler.graph.operators.parts import Gather, Slice
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import Expand, Unsqueeze
from tandem.compiler.ir.dtypes import INT64

_OPERATORS = 20
"""The number of operators of one step of the selection."""


def _non_max_suppression(node: Node) -> Value:
    """The boxes of each class from the best score on, without those that overlap a better one."""
    boxes, scores = node.input(0), node.input(1)
    batch, classes, count = scores.type.static_shape("scores") if scores.rank == 3 else (0, 0, 0)
    if boxes.shape != (batch, count, 4):
        node.refuse(f"boxes {boxes.type} and scores {scores.type}")
    operands = [(at, node.optional(at)) for at in range(node.operands)]
    unknown = [at for at, each in operands if each is not None and each.known is None]
    if not unknown:
        return _known_selection(node)
    zero = node.constant(np.zeros((), np.int64))
    most = _scalar(node, 2) or zero
    if 0 in (batch, classes, count) or (most.known is not None and most.known <= 0):
        return node.constant(np.zeros((0, 3), np.int64))
    order = node.call("top_k", scores, to=TopK(count, 2, True))
    alive = _not_suppressed(node, _corners(node, boxes, order), _scalar(node, 3), scores)
    least = _scalar(node, 4)
    if least is not None:
        ranked = node.call("gather_elements", scores, order, to=Gather(2))
        alive = node.call("logical_and", alive, node.call("greater", ranked, least))
    numbers = node.call("cumulative_sum", node.cast(alive, INT64), to=Cumulative(2))
    alive = node.call("logical_and", alive, node.call("less_or_equal", numbers, most))
    chosen = positions(node, node.reshape(alive, (-1,)), unknown[0])
    flat = replace(chosen, counts=NO_COUNTS)
    if most.known is not None:
        bound = batch * classes * min(int(most.known), count)
        flat = node.call("slice", flat, to=Slice((0,), (bound,)))
    first, second, _ = unravelled(node, flat, (batch, classes, count))
    box = node.call("gather", node.reshape(order, (-1,)), flat, to=Gather())
    found = stacked(node, [first, second, box], 1)
    return replace(found, counts={0: chosen.counts[0]} if chosen.counts else {})


def _scalar(node: Node, position: int) -> Value | None:
    """An operand of one element as a scalar; None if it is missing."""
    value = node.optional(position)
    return None if value is None else node.reshape(value, ())


def _corners(node: Node, boxes: Value, order: Value) -> tuple[Value, Value]:
    """The least and the greatest coordinates of the boxes' corners [batch, classes, count, 2], in
    the order of each class."""
    first = node.call("slice", boxes, to=Slice((0,), (2,), (2,)))
    second = node.call("slice", boxes, to=Slice((2,), (4,), (2,)))
    if node.integer("center_point_box"):
        # A box is the coordinates of its centre, and its extents.
        half = node.call("divide", second, node.number(2, second))
        first, second = node.call("subtract", first, half), node.call("add", first, half)
    shape = (*order.type.static_shape("the order"), 2)
    places = node.call("unsqueeze", order, to=Unsqueeze((3,)))
    places = node.call("expand", places, to=Expand(shape))

    def ranked(corner: Value) -> Value:
        whole = node.call("unsqueeze", corner, to=Unsqueeze((1,)))
        whole = node.call("expand", whole, to=Expand(shape))
        return node.call("gather_elements", whole, places, to=Gather(2))

    low = node.call("minimum", first, second)
    return ranked(low), ranked(node.call("maximum", first, second))


def _not_suppressed(
    node: Node, corners: tuple[Value, Value], most: Value | None, scores: Value
) -> Value:
    """Whether each box, in the order of its class, overlaps no better box that is kept by more than
    `most` of their union."""
    low, high = corners
    count = node.extent(2, scores)
    areas = _product(node, node.call("subtract", high, low))
    places = node.constant(np.arange(count, dtype=np.int64))
    limit = node.number(0, areas) if most is None else most

    def step(index: Value, state: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        (alive,) = state
        here = node.reshape(index, (1,))
        own = [node.call("gather", each, here, to=Gather(2)) for each in (*corners, areas, alive)]
        a, b, area, kept = own
        sides = node.call("subtract", node.call("minimum", high, b), node.call("maximum", low, a))
        common = _product(node, node.call("relu", sides))
        union = node.call("subtract", node.call("add", areas, area), common)
        overlaps = node.call("greater", node.call("divide", common, union), limit)
        later = node.call("greater", places, here)
        worse = node.call("logical_and", node.call("logical_and", overlaps, later), kept)
        return [node.call("logical_and", alive, node.call("logical_not", worse))], []

    everything = node.constant(np.ones(scores.type.static_shape("scores"), np.bool_))
    (alive,), _ = repeat(node, count, [everything], step, _OPERATORS)
    return alive


def _product(node: Node, sides: Value) -> Value:
    """The areas of boxes, from their sides along the last axis."""
    return node.call("reduce_prod", sides, to=Reduction((3,), False))


# What is known at import --------------------------------------------------------------------------


def _known_selection(node: Node) -> Value:
    boxes, scores = node.known(0), node.known(1)
    assert boxes is not None, "all operands are known"
    assert scores is not None, "all operands are known"
    most, overlap = int(node.scalar(2) or 0), float(node.scalar(3) or 0)
    if np.isnan(scores).any():
        node.unsupported("NaN among the scores")
    corners = _known_corners(boxes, bool(node.integer("center_point_box")))
    rows = [
        (batch, number, box)
        for batch in range(scores.shape[0])
        for number in range(scores.shape[1])
        for box in _selected(corners[batch], scores[batch, number], most, overlap, node.scalar(4))
    ]
    return node.constant(np.array(rows, np.int64).reshape(-1, 3))


def _known_corners(boxes: Array, centred: bool) -> Array:
    """Boxes as the least and the greatest coordinates of their corners: [..., 2, 2]."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centred:
        # A box is the coordinates of its centre, and its extents.
        first, second = first - second / 2, first + second / 2
    return np.stack([np.minimum(first, second), np.maximum(first, second)], -2)


def _selected(
    corners: Array, scores: Array, most: int, overlap: float, least: float | None
) -> list[int]:
    """The boxes of one class; of equal scores the first box comes first."""
    found: list[int] = []
    for box in np.argsort(-scores, kind="stable"):
        if len(found) >= most or (least is not None and not scores[box] > least):
            break
        if not any(_overlaps(corners[box], corners[other], overlap) for other in found):
            found.append(int(box))
    return found


def _overlaps(a: Array, b: Array, most: float) -> bool:
    """Whether the boxes' intersection is more than `most` of their union."""
    sides = np.minimum(a[1], b[1]) - np.maximum(a[0], b[0])
    areas = np.prod(a[1] - a[0]), np.prod(b[1] - b[0])
    if np.any(sides <= 0) or min(areas) <= 0:
        return False
    common = np.prod(sides)
    return bool(common / (areas[0] + areas[1] - common) > most)


CONVERTERS: tuple[Converter, ...] = (
    Converter(
        "NonMaxSuppression",
        (10, 11),
        _non_max_suppression,
        "of what depends on inputs, results are bounded",
    ),
)

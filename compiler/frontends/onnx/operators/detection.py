"""Selection of boxes among overlapping ones."""

from __future__ import annotations

import numpy as np

from compiler.frontends.onnx.converter import Converter
from compiler.frontends.onnx.node import Node
from compiler.frontends.onnx.values import Array, Value


def _non_max_suppression(node: Node) -> Value:
    """The boxes of each class from the best score on, without those that overlap a better one."""
    boxes, scores = node.known(0), node.known(1)
    if boxes is None or scores is None:
        node.refuse("boxes or scores are missing")
    most = int(node.scalar(2) or 0)
    overlap = float(node.scalar(3) or 0)
    least = node.scalar(4)
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape[2] != 4:
        node.refuse(f"boxes {list(boxes.shape)} and scores {list(scores.shape)}")
    if np.isnan(scores).any():
        node.unsupported("NaN among the scores")
    corners = _corners(boxes, bool(node.integer("center_point_box")))
    rows = [
        (batch, number, box)
        for batch in range(scores.shape[0])
        for number in range(scores.shape[1])
        for box in _selected(corners[batch], scores[batch, number], most, overlap, least)
    ]
    return node.constant(np.array(rows, np.int64).reshape(-1, 3))


def _corners(boxes: Array, centred: bool) -> Array:
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
        "all operands known at import: they determine the shape of the result",
    ),
)

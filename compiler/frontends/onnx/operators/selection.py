"""Operators whose results have as many elements as others have a property."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import NO_COUNTS, Value
from tandem.compiler.graph.operators.elementwise import Modulo
from tandem.compiler.graph.operators.parts import Concat, Gather, Slice
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import Unsqueeze
from tandem.compiler.ir.dtypes import BOOL, INT64


def positions(node: Node, mask: Value, source: int) -> Value:
    """The positions of the true elements of a mask of one axis, with their count.

    Parameters
    ----------
    source
        The position of the operand that determines the mask.
    """
    if mask.known is not None:
        return node.constant(np.flatnonzero(mask.known))
    if mask.shape == (0,):
        return node.constant(np.zeros(0, np.int64))
    found = node.call("true_positions", mask)
    bits = node.cast(mask, INT64)
    total = node.call("reduce_sum", bits, to=Reduction((0,), False))
    return replace(found, counts={0: node.count(total, source)})


def unravelled(node: Node, flat: Value, shape: tuple[int, ...]) -> list[Value]:
    """The coordinates, by axis, of positions in a tensor of `shape`."""
    found: list[Value] = []
    for axis, extent in enumerate(shape):
        inner = prod(shape[axis + 1 :])
        place = node.call("divide", flat, node.number(max(inner, 1), flat))
        if axis:
            place = node.call("modulo", place, node.number(max(extent, 1), flat), to=Modulo())
        found.append(place)
    return found


def stacked(node: Node, values: list[Value], axis: int) -> Value:
    """Values of one shape along a new axis."""
    single = [node.call("unsqueeze", each, to=Unsqueeze((axis,))) for each in values]
    return single[0] if len(single) == 1 else node.call("concat", *single, to=Concat(axis))


def _compress(node: Node) -> Value:
    data = node.input(0)
    axis = 0
    if "axis" in node.given():
        (axis,) = node.axes([node.integer("axis")], data)
        axis %= data.rank
    else:
        data = node.reshape(data, (-1,))
    extent, condition = node.extent(axis, data), node.reshape(node.input(1), (-1,))
    if node.extent(0, condition) > extent:
        condition = node.call("slice", condition, to=Slice((0,), (extent,)))
    kept = positions(node, condition, 1)
    found = node.call("gather", data, replace(kept, counts=NO_COUNTS), to=Gather(axis))
    return replace(found, counts={axis: kept.counts[0]} if kept.counts else {})


def _non_zero(node: Node) -> Value:
    data = node.input(0)
    if data.known is not None and data.known.dtype != object:
        return node.constant(np.stack(np.nonzero(np.atleast_1d(data.known))).astype(np.int64))
    shape = data.type.static_shape("the operand") or (1,)
    flat = positions(node, node.reshape(node.cast(data, BOOL), (prod(shape),)), 0)
    found = stacked(node, unravelled(node, replace(flat, counts=NO_COUNTS), shape), 0)
    return replace(found, counts={1: flat.counts[0]} if flat.counts else {})


_SHAPED = "of what depends on inputs, results are bounded"

CONVERTERS: tuple[Converter, ...] = (
    Converter("Compress", (9, 11, 28), _compress, _SHAPED),
    Converter("NonZero", (9, 13), _non_zero, _SHAPED),
)

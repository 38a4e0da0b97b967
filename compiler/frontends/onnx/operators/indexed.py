"""Operators that scatter, search and accumulate elements."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.spatial import per_axis
from tandem.compiler.frontends.onnx.padding import filled, highest, lowest
from tandem.compiler.frontends.onnx.values import Count, Value
from tandem.compiler.graph.operators.elementwise import Modulo
from tandem.compiler.graph.operators.indexed import (
    Col2Im,
    Cumulative,
    ScatterElements,
    ScatterNd,
    TopK,
)
from tandem.compiler.graph.operators.parts import Gather, Pad
from tandem.compiler.graph.operators.shapes import Expand
from tandem.compiler.ir.dtypes import INT64
from tandem.compiler.operators.scatter import ScatterReduction

_MOST_ELEMENTS: Final = 1 << 28
"""Of the result of MaxUnpool, which begins as zeros."""


def _reduction(node: Node) -> ScatterReduction:
    names = {each.value for each in ScatterReduction}
    return ScatterReduction(node.word("reduction", names, "none"))


def _scatter_elements(node: Node) -> Value:
    to = ScatterElements(node.integer("axis"), _reduction(node))
    return node.call("scatter_elements", node.input(0), _indices(node), node.input(2), to=to)


def _indices(node: Node) -> Value:
    """The indices of a scatter; padding lies out of range, where it changes nothing."""
    found = node.input(1)
    for axis, count in node.counts(1).items():
        found = filled(node, found, axis, count, found.dtype.low)
    return found


def _scatter_nd(node: Node) -> Value:
    to = ScatterNd(_reduction(node))
    return node.call("scatter_nd", node.input(0), _indices(node), node.input(2), to=to)


def _top_k(node: Node) -> tuple[Value, ...]:
    """The greatest or least elements; all of them, sorted, where `k` depends on inputs."""
    data, largest = node.input(0), bool(node.integer("largest", 1))
    (axis,) = node.axes([node.integer("axis")], data)
    axis %= data.rank
    sorted_ = data
    if axis in node.counts(0):
        last = lowest(data) if largest else highest(data)
        sorted_ = filled(node, data, axis, node.counts(0)[axis], last)
    k = None if node.has("k") else node.needed(node.optional(1), "k is missing")
    count: Count | None = None
    if k is None:
        most = node.integer("k")
    elif k.known is not None:
        most = int(node.scalar(1) or 0)
    else:
        most, count = node.extent(axis, data), node.count(k, 1)
    if axis in node.counts(0):
        fewer = node.number(most, node.counts(0)[axis].size) if count is None else count.size
        size = node.call("minimum", node.counts(0)[axis].size, fewer)
        count = replace(node.counts(0)[axis], size=size)
    indices = node.call("top_k", sorted_, to=TopK(most, axis, largest))
    found = node.call("gather_elements", data, indices, to=Gather(axis))
    counts = {} if count is None else {axis: count}
    return replace(found, counts=counts), replace(indices, counts=counts)


def _cumulative(node: Node) -> Value:
    axis = int(node.needed(node.scalar(1), "the axis is missing"))
    name = "cumulative_sum" if node.operator == "CumSum" else "cumulative_product"
    to = Cumulative(axis, bool(node.integer("exclusive")), bool(node.integer("reverse")))
    return node.call(name, node.input(0), to=to)


def _reverse_sequence(node: Node) -> Value:
    """The first elements along the time axis backwards: as many as each batch's length says."""
    data, lengths = node.input(0), node.input(1)
    batch, time = node.integer("batch_axis"), node.integer("time_axis")
    if {batch, time} != {0, 1} or data.rank < 2:
        node.refuse(f"batch_axis {batch} and time_axis {time} of {data.type}")
    shape = [1] * data.rank
    shape[batch] = node.extent(batch, data)
    counts = node.cast(node.reshape(lengths, shape), INT64)
    steps = _positions(node, data, time)
    last = node.call("subtract", counts, node.number(1, counts))
    backwards = node.call("subtract", last, steps)
    source = node.call("where", node.call("less", steps, counts), backwards, steps)
    full = Expand(data.type.static_shape("data"))
    return node.call("gather_elements", data, node.call("expand", source, to=full), to=Gather(time))


def _positions(node: Node, data: Value, axis: int) -> Value:
    """The positions along an axis, which broadcast to the data."""
    shape = [1] * data.rank
    shape[axis] = node.extent(axis, data)
    return node.constant(np.arange(shape[axis]).reshape(shape))


def _tensor_scatter(node: Node) -> Value:
    """A cache in which new elements replace old ones, from an index for each batch on."""
    cache, update, starts = node.input(0), node.input(1), node.optional(2)
    (axis,) = node.axes([node.integer("axis")], cache)
    axis %= cache.rank
    if update.rank != cache.rank or axis == 0:
        node.refuse(f"{update.type} along axis {axis} of {cache.type}")
    count, extent = node.extent(axis, update), node.extent(axis, cache)
    if not 1 <= count <= extent:
        node.refuse(f"{update.type} along axis {axis} of {cache.type}")
    number = _positions(node, cache, axis)
    if starts is not None:
        shape = (cache.shape[0], *(1,) * (cache.rank - 1))
        number = node.call("subtract", number, node.cast(node.reshape(starts, shape), INT64))
    if node.word("mode", ("linear", "circular")) == "circular":
        number = node.call("modulo", number, node.number(extent, number), to=Modulo())
    new = node.call(
        "logical_and",
        node.call("greater_or_equal", number, node.number(0, number)),
        node.call("less", number, node.number(count, number)),
    )
    within = node.call("maximum", number, node.number(0, number))
    within = node.call("minimum", within, node.number(count - 1, number))
    full = Expand(cache.type.static_shape("past_cache"))
    source = node.call("expand", within, to=full)
    taken = node.call("gather_elements", update, source, to=Gather(axis))
    return node.call("where", new, taken, cache)


def _col2im(node: Node) -> Value:
    image = node.needed(node.numbers(1), "image_shape is missing")
    kernel = node.needed(node.numbers(2), "block_shape is missing")
    rank = len(image)
    padding = node.integers("pads") or (0,) * (2 * rank)
    strides, dilation = (per_axis(node, name, rank) for name in ("strides", "dilations"))
    to = Col2Im(image, kernel, strides, padding, dilation)
    return node.call("col2im", node.input(0), to=to)


def _max_unpool(node: Node) -> Value:
    """Zeros with elements at positions in the result without padding from `output_shape`."""
    data, indices = node.input(0), node.input(1)
    kernel = node.integers("kernel_shape") or ()
    if len(kernel) != data.rank - 2 or indices.shape != data.shape:
        node.refuse(f"kernel_shape {list(kernel)} and {indices.type} for {data.type}")
    strides = per_axis(node, "strides", len(kernel))
    pads = node.integers("pads") or (0,) * (2 * len(kernel))
    if len(pads) != 2 * len(kernel):
        node.refuse(f"pads {list(pads)}")
    shape = data.type.static_shape("data")
    image = [
        (extent - 1) * stride - pads[axis] - pads[len(kernel) + axis] + k
        for axis, (extent, stride, k) in enumerate(zip(shape[2:], strides, kernel, strict=True))
    ]
    size, channels = prod(image), shape[0] * shape[1]
    if min(image) < 1 or channels * size > _MOST_ELEMENTS:
        node.refuse(f"{channels} images of {image}: {_MOST_ELEMENTS} elements at most")
    # Positions count through the whole tensor; each channel has its own part.
    flat = (channels, prod(shape[2:]))
    start = node.constant(np.arange(channels).reshape(-1, 1) * size)
    within = node.call("subtract", node.cast(node.reshape(indices, flat), INT64), start)
    zeros = node.constant(np.zeros((channels, size), data.dtype.numpy))
    found = node.call(
        "scatter_elements", zeros, within, node.reshape(data, flat), to=ScatterElements(1)
    )
    result = node.reshape(found, (*shape[:2], *image))
    wanted = node.numbers(2)
    if wanted is None:
        return result
    if len(wanted) != len(shape):
        node.refuse(f"output_shape {list(wanted)}")
    after = [extent - own for extent, own in zip(wanted, result.shape, strict=True)]  # type: ignore[operator]
    if min(after) < 0:
        node.refuse(f"output_shape {list(wanted)} of {result.type}")
    return node.call("pad", result, to=Pad((*(0,) * len(shape), *after), value=0.0))


_OUTSIDE = "indices out of range change nothing"

CONVERTERS: tuple[Converter, ...] = (
    Converter("Scatter", (9,), _scatter_elements, _OUTSIDE),
    Converter("ScatterElements", (11, 13, 16, 18), _scatter_elements, _OUTSIDE),
    Converter("ScatterND", (11, 13, 16, 18), _scatter_nd, _OUTSIDE),
    Converter("TopK", (1, 10, 11, 24), _top_k, "where k depends on inputs, results are bounded"),
    Converter("CumSum", (11, 14), _cumulative, "the axis known at import"),
    Converter("CumProd", (26,), _cumulative, "the axis known at import"),
    Converter("ReverseSequence", (10, 28), _reverse_sequence, "shapes known at import"),
    Converter("TensorScatter", (24,), _tensor_scatter, "shapes known at import"),
    Converter("Col2Im", (18,), _col2im, "both shapes known at import"),
    Converter("MaxUnpool", (9, 11, 22), _max_unpool, "shapes known at import"),
)

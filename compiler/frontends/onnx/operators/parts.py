"""Operators that concatenate, split, slice, pad and gather tensors."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter, direct
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.parts import Concat, OneHot, Pad, Slice, Split
from tandem.compiler.ir.dtypes import INT64
from tandem.compiler.operators.pad import PadMode


def _concat(node: Node) -> Value:
    # In opset 1 the axis is 1 by default.
    axis = node.integer("axis", 1 if node.version == 1 else None)
    return node.call("concat", *node.inputs, to=Concat(axis))


def _split(node: Node) -> tuple[Value, ...]:
    data, axis = node.input(0), node.integer("axis")
    if not -data.rank <= axis < data.rank:
        node.refuse(f"axis {axis} of {data.type}")
    sizes = node.integers("split") if node.has("split") else node.numbers(1)
    if node.version == 1 and node.optional(1) is not None:
        # Numbers of the data's type.
        sizes = tuple(int(each) for each in node.needed(node.known(1), "").flat)
    count = len(node.outputs)
    if sizes is None:
        extent = node.extent(axis, data)
        # All parts but the last have equal size; before opset 18 the split has to be even.
        size = -(-extent // count)
        sizes = tuple(max(min(size, extent - size * each), 0) for each in range(count))
    if len(sizes) != count:
        node.refuse(f"{len(sizes)} sizes for {count} results")
    if data.known is not None:
        # Slices of what is known are known too.
        starts = accumulate(sizes, initial=0)
        return tuple(
            node.call("slice", data, to=Slice((start,), (start + size,), (axis,)))
            for start, size in zip(starts, sizes, strict=False)
        )
    return node.calls("split", data, to=Split(sizes, axis))


def _slice(node: Node) -> Value:
    return node.call("slice", node.input(0), to=bounds(node))


def bounds(node: Node) -> Slice:
    """What a `Slice` cuts, with axes and steps."""
    data = node.input(0)
    if node.has("starts"):
        starts, ends = node.integers("starts"), node.integers("ends")
        axes, steps = node.integers("axes"), None
    else:
        starts, ends, axes, steps = (node.numbers(each) for each in range(1, 5))
    if starts is None or ends is None:
        node.refuse("starts and ends are missing")
    count = len(starts)
    axes = tuple(range(count)) if axes is None else axes
    steps = (1,) * count if steps is None else steps
    if not len(ends) == len(axes) == len(steps) == count:
        node.refuse(f"{count} starts, {len(ends)} ends, {len(axes)} axes, {len(steps)} steps")
    return Slice(starts, ends, node.axes(axes, data), steps)


def _pad(node: Node) -> Value:
    data = node.input(0)
    mode = PadMode(node.word("mode", {each.value for each in PadMode}))
    value: int | float | bool | None
    if node.has("value"):
        name = "paddings" if node.version == 1 else "pads"
        pads, value, axes = node.integers(name), node.real("value"), None
    else:
        pads, value, axes = node.numbers(1), node.scalar(2), node.numbers(3)
    pads = node.needed(pads, "pads are missing")
    if value is None:
        value = False if data.dtype.numpy.kind == "b" else 0.0 if data.dtype.is_float else 0
    if axes is not None:
        pads = _spread(node, data, pads, axes)
    return node.call("pad", data, to=Pad(pads, mode, value))


def _spread(
    node: Node, data: Value, pads: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[int, ...]:
    """Padding of all axes from `pads`, the padding of `axes`."""
    if len(pads) != 2 * len(axes) or any(not -data.rank <= each < data.rank for each in axes):
        node.refuse(f"pads {list(pads)} of axes {list(axes)} of {data.type}")
    whole = [0] * (2 * data.rank)
    for number, axis in enumerate(axes):
        whole[axis % data.rank] = pads[number]
        whole[data.rank + axis % data.rank] = pads[len(axes) + number]
    return tuple(whole)


def _one_hot(node: Node) -> Value:
    indices, values = node.input(0), node.input(2)
    depth = node.needed(node.scalar(1), "the depth is missing")
    if indices.dtype.is_float:
        indices = node.cast(indices, INT64)
    return node.call("one_hot", indices, values, to=OneHot(int(depth), node.integer("axis")))


def _trilu(node: Node) -> Value:
    data = node.input(0)
    if data.rank < 2:
        node.refuse(f"{data.type} holds no matrices")
    rows, columns = data.shape[-2:]
    if not (isinstance(rows, int) and isinstance(columns, int)):
        node.unsupported(f"{data.type}: give its shape")
    place = node.scalar(1)
    if rows * columns > 1 << 24:
        node.unsupported(f"matrices as large as {data.type}")
    kept = np.tri(rows, columns, int(place or 0) - bool(node.integer("upper")), dtype=np.bool_)
    mask = node.constant(~kept if node.integer("upper") else kept)
    return node.call("where", mask, data, node.number(0, data))


_RANGE = "indices out of range pick the nearest element"

CONVERTERS: tuple[Converter, ...] = (
    Converter("Concat", (1, 4, 11, 13), _concat, takes_stored_floats=True),
    Converter(
        "Split", (1, 2, 11, 13, 18), _split, "sizes known at import", takes_stored_floats=True
    ),
    Converter(
        "Slice",
        (1, 10, 11, 13),
        _slice,
        "starts, ends, axes and steps known at import",
        takes_stored_floats=True,
    ),
    Converter(
        "Pad",
        (1, 2, 11, 13, 18, 19, 21, 23, 24, 25),
        _pad,
        "pads, value and axes known at import",
    ),
    Converter("Gather", (1, 11, 13), direct("gather"), _RANGE, takes_stored_floats=True),
    Converter(
        "GatherElements", (11, 13), direct("gather_elements"), _RANGE, takes_stored_floats=True
    ),
    Converter("GatherND", (11, 12, 13), direct("gather_nd"), _RANGE, takes_stored_floats=True),
    Converter("OneHot", (9, 11, 28), _one_hot, "the depth known at import"),
    Converter("Trilu", (14,), _trilu, "the diagonal known at import"),
)

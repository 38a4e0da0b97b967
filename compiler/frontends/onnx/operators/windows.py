"""Sliding-window operators: convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from compiler.frontends.onnx.converter import Converter, direct
from compiler.frontends.onnx.node import Node
from compiler.frontends.onnx.values import Value
from compiler.graph.operators.products import Conv2d
from compiler.graph.operators.reductions import AveragePool, MaxPool
from compiler.graph.operators.shapes import Squeeze, Unsqueeze

_MOST_PADDING: Final = 1 << 16


def conv2d_attributes(node: Node, data: Value, kernel: Sequence[int]) -> Conv2d:
    """The attributes of a 2-D convolution, or of a 1-D convolution as 2-D with one row."""
    strides, dilation = (_per_axis(node, name, len(kernel)) for name in ("strides", "dilations"))
    padding = _padding(node, data, kernel, strides, dilation)
    if len(kernel) == 1:
        strides, dilation = (1, *strides), (1, *dilation)
        padding = (0, padding[0], 0, padding[1])
    return Conv2d(strides, padding, dilation, node.integer("group"))


def _conv(node: Node) -> Value:
    data, weight = node.input(0), node.input(1)
    kernel = spatial_kernel(node, data, weight)
    to = conv2d_attributes(node, data, kernel)
    row = len(kernel) == 1
    if row:
        data, weight = (node.call("unsqueeze", x, to=Unsqueeze((2,))) for x in (data, weight))
    result = node.call("conv2d", data, weight, node.optional(2), to=to)
    return node.call("squeeze", result, to=Squeeze((2,))) if row else result


def spatial_kernel(node: Node, data: Value, weight: Value) -> tuple[int, ...]:
    """The extents of `weight` along its one or two spatial axes."""
    if data.rank not in (3, 4):
        node.unsupported(f"data {data.type}: one or two spatial axes are")
    if weight.rank != data.rank:
        node.refuse(f"weights {weight.type} for data {data.type}")
    found = weight.type.static_shape("weights")[2:]
    if node.integers("kernel_shape") not in (None, found):
        node.refuse(f"weights {weight.type} and kernel_shape {node.integers('kernel_shape')}")
    return found


def _pool(node: Node) -> Value:
    data = node.input(0)
    window = _window(node, data)
    ceil_mode = bool(node.integer("ceil_mode", 0))
    if node.operator == "MaxPool":
        node.only_first()
        return node.call("max_pool", data, to=MaxPool(*window, ceil_mode))
    counted = bool(node.integer("count_include_pad"))
    return node.call("average_pool", data, to=AveragePool(*window, ceil_mode, counted))


def _window(
    node: Node, data: Value
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    kernel = node.integers("kernel_shape") or ()
    if len(kernel) != data.rank - 2:
        node.refuse(f"kernel_shape {list(kernel)} for data {data.type}")
    strides, dilation = (_per_axis(node, name, len(kernel)) for name in ("strides", "dilations"))
    return kernel, strides, _padding(node, data, kernel, strides, dilation), dilation


def _per_axis(node: Node, name: str, count: int) -> tuple[int, ...]:
    """An attribute with a number for each spatial axis, by default 1."""
    found = node.integers(name) or (1,) * count
    if len(found) != count or min(found) < 1:
        node.refuse(f"{name} {list(found)}: {count} numbers of 1 or more are expected")
    return found


def _padding(
    node: Node,
    data: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> tuple[int, ...]:
    """The padding at the start of each spatial axis, then at the end of each."""
    count = len(kernel)
    match node.text("auto_pad", "NOTSET"):
        case "NOTSET":
            found = node.integers("pads") or (0,) * (2 * count)
            if len(found) != 2 * count or not all(0 <= each <= _MOST_PADDING for each in found):
                limits = f"{2 * count} numbers from 0 to {_MOST_PADDING}"
                node.refuse(f"pads {list(found)}: {limits} are expected")
            return found
        case "VALID":
            return (0,) * (2 * count)
        case "SAME_UPPER" | "SAME_LOWER" as mode:
            before, after = [], []
            for extent, k, stride, gap in zip(
                data.shape[2:], kernel, strides, dilation, strict=True
            ):
                if not isinstance(extent, int):
                    node.unsupported(f"auto_pad {mode} of data {data.type}: give its shape")
                reach = (k - 1) * gap + 1
                total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
                before.append(total // 2 if mode == "SAME_UPPER" else total - total // 2)
                after.append(total - before[-1])
            return (*before, *after)
        case other:
            node.refuse(f"auto_pad is {other!r}")


CONVERTERS: tuple[Converter, ...] = (
    Converter("Conv", (1, 11, 22), _conv, "one or two spatial axes"),
    Converter("MaxPool", (1, 8, 10, 11, 12, 22), _pool, "no indices as a result"),
    Converter("AveragePool", (7, 10, 11, 19, 22), _pool),
    Converter("GlobalAveragePool", (1, 22), direct("global_average_pool")),
    Converter("GlobalMaxPool", (1, 22), direct("global_max_pool")),
)

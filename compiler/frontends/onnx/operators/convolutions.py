"""Convolution, with one to three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.spatial import padding_of, per_axis
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.extents import product
from tandem.compiler.graph.operators.parts import Concat, Pad, Slice
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.operators.shapes import Squeeze, Transpose, Unsqueeze


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of a convolution: a number for each spatial axis; `padding` before, then after."""

    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


def windows_of(node: Node, data: Value, kernel: Sequence[int]) -> Windows:
    """The windows that the node's attributes describe."""
    strides, dilation = (per_axis(node, name, len(kernel)) for name in ("strides", "dilations"))
    padding = padding_of(node, data, kernel, strides, dilation)
    return Windows(strides, padding, dilation, node.integer("group"))


def spatial_kernel(node: Node, data: Value, weight: Value) -> tuple[int, ...]:
    """The extents of `weight` along its one to three spatial axes."""
    if data.rank not in (3, 4, 5):
        node.unsupported(f"data {data.type}: one to three spatial axes are")
    if weight.rank != data.rank:
        node.refuse(f"weights {weight.type} for data {data.type}")
    found = weight.type.static_shape("weights")[2:]
    if node.integers("kernel_shape") not in (None, found):
        node.refuse(f"weights {weight.type} and kernel_shape {node.integers('kernel_shape')}")
    return found


def convolution(
    node: Node, data: Value, weight: Value, bias: Value | None, windows: Windows
) -> Value:
    """The convolution of `data` [N, C, ...] by `weight` [O, C / groups, ...]."""
    match data.rank:
        case 3:
            data, weight = (node.call("unsqueeze", x, to=Unsqueeze((2,))) for x in (data, weight))
            before, after = windows.padding
            to = Conv2d(
                (1, *windows.strides),
                (0, before, 0, after),
                (1, *windows.dilation),
                windows.groups,
            )
            result = node.call("conv2d", data, weight, bias, to=to)
            return node.call("squeeze", result, to=Squeeze((2,)))
        case 4:
            to = Conv2d(windows.strides, windows.padding, windows.dilation, windows.groups)
            return node.call("conv2d", data, weight, bias, to=to)
        case _:
            return _convolution3d(node, data, weight, bias, windows)


def _convolution3d(
    node: Node, data: Value, weight: Value, bias: Value | None, windows: Windows
) -> Value:
    """The convolution of images that have the planes that a kernel meets as channels."""
    top, left, bottom, right = (windows.padding[each] for each in (1, 2, 4, 5))
    to = Conv2d(
        windows.strides[1:], (top, left, bottom, right), windows.dilation[1:], windows.groups
    )
    before, after = windows.padding[0], windows.padding[3]
    if before or after:
        data = node.call("pad", data, to=Pad((0, 0, before, 0, 0, 0, 0, after, 0, 0), value=0.0))
    depth, planes = node.extent(2, data), node.extent(2, weight)
    stride, gap = windows.strides[0], windows.dilation[0]
    count = (depth - (planes - 1) * gap - 1) // stride + 1
    if count < 1:
        node.refuse(f"{weight.type} is larger than {data.type}")
    if not planes:
        node.refuse(f"{weight.type} has no elements")
    # Images [N, D, C, H, W], so that the depth can become part of the batch.
    images = node.call("transpose", data, to=Transpose((0, 2, 1, 3, 4)))
    outputs, inputs, _, *kernel = weight.type.static_shape("weights")
    groups = (data.shape[0], count, windows.groups, inputs, *data.shape[3:])
    parts = []
    for plane in range(planes):
        first = plane * gap
        taken = Slice((first,), (first + (count - 1) * stride + 1,), (1,), (stride,))
        parts.append(node.reshape(node.call("slice", images, to=taken), groups))
    whole = parts[0] if planes == 1 else node.call("concat", *parts, to=Concat(3))
    channels = windows.groups * planes * inputs
    whole = node.reshape(whole, (product((data.shape[0], count)), channels, *data.shape[3:]))
    swapped = node.call("transpose", weight, to=Transpose((0, 2, 1, 3, 4)))
    kernels = node.reshape(swapped, (outputs, planes * inputs, *kernel))
    found = node.call("conv2d", whole, kernels, bias, to=to)
    rows, columns = found.shape[2:]
    apart = node.reshape(found, (data.shape[0], count, outputs, rows, columns))
    return node.call("transpose", apart, to=Transpose((0, 2, 1, 3, 4)))


def convolve(node: Node) -> Value:
    """The result of `Conv`."""
    data, weight = node.input(0), node.input(1)
    windows = windows_of(node, data, spatial_kernel(node, data, weight))
    return convolution(node, data, weight, node.optional(2), windows)


AXES = "one to three spatial axes"
"""The axes that converters of convolutions support."""

CONVERTERS: tuple[Converter, ...] = (Converter("Conv", (1, 11, 22), convolve, AXES),)

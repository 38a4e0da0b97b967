"""Transposed convolution, with one to three spatial axes.

With one stride for rows and columns it is a convolution for each phase of the stride, and their
results interleaved; else a convolution of the data, with zeros between its elements, by the flipped
kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.convolutions import (
    AXES,
    Windows,
    convolution,
    spatial_kernel,
)
from tandem.compiler.frontends.onnx.operators.spatial import padding_of, per_axis
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.parts import Concat, Pad, Slice
from tandem.compiler.graph.operators.shapes import DepthToSpace, Transpose, Unsqueeze

_LARGEST = 1 << 20
"""The maximum extent of an axis of the result."""


def _conv_transpose(node: Node) -> Value:
    data, weight = node.input(0), node.input(1)
    kernel = spatial_kernel(node, data, weight)
    rank, groups = len(kernel), node.integer("group")
    strides, dilation = (per_axis(node, name, rank) for name in ("strides", "dilations"))
    extra = node.integers("output_padding") or (0,) * rank
    if len(extra) != rank or any(each < 0 for each in extra):
        node.refuse(f"output_padding {list(extra)}: {rank} numbers of 0 or more are expected")
    extents = [node.extent(2 + axis, data) for axis in range(rank)]
    reach = [(k - 1) * gap for k, gap in zip(kernel, dilation, strict=True)]
    whole = [
        (extent - 1) * stride + far + 1
        for extent, stride, far in zip(extents, strides, reach, strict=True)
    ]
    before, after = _cut(node, data, whole, strides, extra)
    flipped, bias = _flipped(node, weight, groups), node.optional(2)
    if rank == 2 and strides[0] == strides[1] > 1:
        result = [
            full + more - first - last
            for full, more, first, last in zip(whole, extra, before, after, strict=True)
        ]
        phases = list(map(_phases, kernel, extents, strides, dilation, before, result))
        if all(phases):
            return _interleaved(node, (data, flipped, bias), phases, result, groups)
    spread = _with_zeros(node, data, strides)
    pads = [far - cut for far, cut in zip(reach, before, strict=True)]
    pads += [far - cut + more for far, cut, more in zip(reach, after, extra, strict=True)]
    return _padded_convolution(node, (spread, flipped, bias), pads, dilation, groups)


@dataclass(frozen=True, slots=True)
class _Phase:
    """Every `stride`-th element of the result along an axis, as a convolution of the data.

    Attributes
    ----------
    taps
        The first and the last element of the flipped kernel, and the distance between taps.
    before, after
        Padding; negative numbers remove elements.
    dilation
        The distance of the elements that neighbouring taps meet.
    """

    taps: tuple[int, int, int]
    before: int
    after: int
    dilation: int


def _phases(
    kernel: int, extent: int, stride: int, gap: int, cut: int, result: int
) -> tuple[_Phase, ...]:
    """The phases of an axis, all with the extent of the longest one; () where one has no taps.

    Element u of the whole result is the sum of data[i] * weight[k] where u = i * stride + k * gap:
    elements of equal u % stride meet the same taps.

    Parameters
    ----------
    gap
        The kernel's dilation.
    cut, result
        The elements that are removed from the start of the whole result, and those that are left.
    """
    count, common = -(-result // stride), gcd(gap, stride)
    found = []
    for number in range(stride):
        moved, rest = divmod(number + cut, stride)
        taps = [tap for tap in range(kernel) if tap * gap % stride == rest]
        if not taps:
            return ()
        near, far = ((tap * gap - rest) // stride for tap in (taps[0], taps[-1]))
        ends = kernel - 1 - taps[-1], kernel - 1 - taps[0]
        before, after = far - moved, count + moved - near - extent
        found.append(_Phase((*ends, stride // common), before, after, gap // common))
    return tuple(found)


def _interleaved(
    node: Node,
    operands: tuple[Value, Value, Value | None],
    phases: Sequence[Sequence[_Phase]],
    result: Sequence[int],
    groups: int,
) -> Value:
    """A convolution for each phase of rows and columns, and their results interleaved: no product
    has an inserted zero as a factor.

    Parameters
    ----------
    operands
        Data, the flipped kernel, and the bias if there is one.
    result
        Rows and columns of the result.
    """
    data, weight, bias = operands
    parts = []
    for both in product(*phases):
        starts, ends, steps = zip(*(each.taps for each in both), strict=True)
        taken = Slice(starts, tuple(end + 1 for end in ends), (2, 3), steps)
        kernel = node.call("slice", weight, to=taken)
        pads = [each.before for each in both] + [each.after for each in both]
        dilation = tuple(each.dilation for each in both)
        parts.append(_padded_convolution(node, (data, kernel, bias), pads, dilation, groups))
    stride = len(phases[0])
    channels = node.call("concat", *parts, to=Concat(1))
    found = node.call("depth_to_space", channels, to=DepthToSpace(stride))
    if all(extent % stride == 0 for extent in result):
        return found
    return node.call("slice", found, to=Slice((0, 0), tuple(result), (2, 3)))


def _padded_convolution(
    node: Node,
    operands: tuple[Value, Value, Value | None],
    pads: Sequence[int],
    dilation: tuple[int, ...],
    groups: int,
) -> Value:
    """A convolution of stride 1. Its own padding cannot remove elements, as negative numbers do."""
    data, weight, bias = operands
    rank = len(dilation)
    if min(pads) < 0:
        # Zeros first: they may be all that is left.
        for part in ([max(each, 0) for each in pads], [min(each, 0) for each in pads]):
            ends = (0, 0, *part[:rank], 0, 0, *part[rank:])
            data = node.call("pad", data, to=Pad(ends, value=0.0)) if any(part) else data
        pads = (0,) * len(pads)
    windows = Windows((1,) * rank, tuple(pads), dilation, groups)
    return convolution(node, data, weight, bias, windows)


def _cut(
    node: Node, data: Value, whole: Sequence[int], strides: Sequence[int], extra: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The elements that padding removes from the start and the end of each axis of the result."""
    rank = len(whole)
    mode = node.text("auto_pad", "NOTSET")
    asked = node.integers("output_shape")
    if asked is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        asked = tuple(node.extent(2 + axis, data) * stride for axis, stride in enumerate(strides))
    if asked is None:
        pads = padding_of(node, data, (1,) * rank, strides, (1,) * rank)
        return list(pads[:rank]), list(pads[rank:])
    wanted = asked[-rank:]
    if len(wanted) != rank or not all(1 <= each <= _LARGEST for each in wanted):
        node.refuse(f"output_shape {list(asked)}")
    totals = [full + more - extent for full, more, extent in zip(whole, extra, wanted, strict=True)]
    # Elements that are missing, not removed, are zeros at the end.
    cut = [max(total, 0) for total in totals]
    before = [each // 2 if mode == "SAME_UPPER" else each - each // 2 for each in cut]
    return before, [total - start for total, start in zip(totals, before, strict=True)]


def _with_zeros(node: Node, data: Value, strides: Sequence[int]) -> Value:
    """The data with `stride - 1` zeros between the elements along each spatial axis."""
    for number, stride in enumerate(strides):
        axis, extent = 2 + number, node.extent(2 + number, data)
        if stride == 1:
            continue
        shape = data.shape
        apart = node.call("unsqueeze", data, to=Unsqueeze((axis + 1,)))
        pads = [0] * (2 * (data.rank + 1))
        pads[data.rank + 1 + axis + 1] = stride - 1
        filled = node.call("pad", apart, to=Pad(tuple(pads), value=0.0))
        joined = node.reshape(filled, (*shape[:axis], extent * stride, *shape[axis + 1 :]))
        last = (extent - 1) * stride + 1
        data = node.call("slice", joined, to=Slice((0,), (last,), (axis,)))
    return data


def _flipped(node: Node, weight: Value, groups: int) -> Value:
    """Weights [C, O / groups, ...] as [O, C / groups, ...], reversed along spatial axes."""
    inputs, outputs, *kernel = weight.type.static_shape("weights")
    if groups < 1 or inputs % groups:
        node.refuse(f"weights {weight.type} in {groups} groups")
    rank = len(kernel)
    axes = tuple(range(2, 2 + rank))
    backwards = Slice((-1,) * rank, (-(1 << 30),) * rank, axes, (-1,) * rank)
    weight = node.call("slice", weight, to=backwards)
    apart = node.reshape(weight, (groups, inputs // groups, outputs, *kernel))
    order = (0, 2, 1, *(axis + 1 for axis in axes))
    swapped = node.call("transpose", apart, to=Transpose(order))
    return node.reshape(swapped, (groups * outputs, inputs // groups, *kernel))


CONVERTERS: tuple[Converter, ...] = (
    Converter("ConvTranspose", (1, 11, 22), _conv_transpose, AXES),
)

"""Convolutions on the CPU, with weights packed in the order of multiplication.

    packed[cb, ci, ky, kx, l]       the weight of output channel cb * channels + l
    sum[n, cb, y, x, l]             the same channels side by side, for the lanes of vectors
    conv[n, co, y, x]               = sum[n, co // channels, y, x, co % channels] (+ bias[co])

If the processor has a dot product of bytes, its terms are adjacent input channels, last in `packed`
and in the padded image (`dot_terms.py`). Extents are rounded up to whole tiles, with zeros for
missing weights, so that inner loops need no conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.ir.dtypes import INT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.conv2d_schedule import schedule_packed_conv2d
from tandem.compiler.machines.cpu.templates.dot_terms import DotTerms
from tandem.compiler.machines.cpu.templates.layer import (
    EXCESS,
    LayerOnCpu,
    LayerWorkload,
    PackedLayer,
    layer_patterns,
    shift,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, best_tile
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Reduction

_ZERO = index(0)


def packed_conv2d(
    data: Tensor,
    weight: Tensor,
    *,
    simd: Simd,
    bias: Tensor | None = None,
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    out_dtype: DType | None = None,
    name: str = "conv",
    tile: Tile | None = None,
) -> PackedLayer | None:
    """`conv2d`, which describes the parameters, with packed weights (`{name}_weight`).

    None where packing does not help: an empty output, or groups that do not fill the vectors of a
    tile, as in a depthwise convolution.

    Parameters
    ----------
    tile
        By default `best_tile`. With groups, its channels must divide a group's; with a
        dot product they are a multiple of its lanes.

    Raises
    ------
    TensorError
        The errors of `conv2d`.
    """
    plain = conv2d(
        data,
        weight,
        bias=bias,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        out_dtype=out_dtype,
        name=name,
    )
    _, outputs, rows, columns = plain.shape
    if 0 in plain.shape:
        return None
    _, inputs, *kernel = weight.shape
    types = data.dtype, weight.dtype, plain.dtype
    shifted = simd.dot_of_shifted(*types)
    dot = simd.layer_dot(*types)
    if tile is None:
        tile = best_tile(outputs // groups, rows, columns, plain.dtype, simd, dot)
    if groups > 1 and outputs // groups % tile.channels:
        return None
    terms = DotTerms.of(dot, inputs)
    axes = tuple(
        _Axis(
            data.shape[2 + number],
            kernel[number],
            strides[number],
            dilation[number],
            padding[number],
            -(-plain.shape[2 + number] // step) * step,
            copied=dot is not None,
        )
        for number, step in enumerate((tile.rows, tile.columns))
    )
    steps = -(-inputs // terms.count)
    shape = _Shape(groups, inputs, steps, outputs, tile.channels, terms, axes)
    padded = data
    if dot is not None or data.source is not None or not all(each.direct for each in axes):
        padded = _padded(data, shape, f"{name}_pad", shifted is not None)
    packings = [_packing(weight, shape, f"{name}_weight")]
    if shifted:
        packings.append(_excess(weight, shape, f"{name}_excess"))
    packed = unpacked_inputs(packings)
    sums = _sums(padded, packed[0], shape, plain.dtype, f"{name}_sum")

    def element(n: Expr, co: Expr, y: Expr, x: Expr) -> Expr:
        value = sums[n, co // tile.channels, y, x, co % tile.channels]
        if shifted:
            value = value - packed[1][co // tile.channels, co % tile.channels]
        return value if bias is None else value + bias[co]

    output = compute(plain.shape, element, name)
    return PackedLayer(
        data, weight, tuple(packings), packed, padded, sums, output, tile, dot, terms
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of a convolution.

    Attributes
    ----------
    extent
        Elements of the image.
    before
        Elements of padding before the image.
    count
        Number of windows, rounded up to whole tiles.
    copied
        Whether the padded image is a copy in any case.
    """

    extent: int
    kernel: int
    stride: int
    dilation: int
    before: int
    count: int
    copied: bool

    @property
    def step(self) -> int:
        """Stride of windows in the padded image."""
        return 1 if self.copied and self.kernel == 1 else self.stride

    @property
    def pitch(self) -> int:
        """Distance in the image of adjacent elements of the padded image: a copy for windows of one
        element leaves out the elements between windows."""
        return self.stride if self.copied and self.kernel == 1 else 1

    @property
    def size(self) -> int:
        """Elements of the padded image."""
        return (self.count - 1) * self.step + (self.kernel - 1) * self.dilation + 1

    @property
    def direct(self) -> bool:
        """Whether the image needs no padding along this axis."""
        return self.pitch == 1 and self.before == 0 and self.size <= self.extent

    def conditions(self, i: Expr) -> list[Expr]:
        """The conditions under which element `i` of the padded image is one of the image."""
        found = [index(self.before) <= i * self.pitch] if self.before else []
        if (self.size - 1) * self.pitch - self.before >= self.extent:
            found.append(i * self.pitch < self.extent + self.before)
        return found

    def position(self, i: Expr) -> Expr:
        """The position in the image of element `i` of the padded image."""
        return i * self.pitch - self.before


@dataclass(frozen=True, slots=True)
class _Shape:
    """Extents of a convolution: `inputs` channels of a group in `steps` steps of a dot product's
    `terms`, `outputs` in blocks of `channels`."""

    groups: int
    inputs: int
    steps: int
    outputs: int
    channels: int
    terms: DotTerms
    axes: tuple[_Axis, ...]

    @property
    def blocks(self) -> int:
        return -(-self.outputs // self.channels)


def _padded(data: Tensor, shape: _Shape, name: str, shifted: bool) -> Tensor:
    """The image with its border: `[n, ci, y, x]`, or `[n, ci, y, x, k]` for dot products, shifted
    or not."""
    (y_axis, x_axis), inner = shape.axes, shape.terms.data_extents

    def element(n: Expr, ci: Expr, y: Expr, x: Expr, k: Expr = _ZERO) -> Expr:
        channel, conditions = ci, []
        if inner:
            own = ci % shape.steps * shape.terms.count + k
            channel = ci // shape.steps * shape.inputs + own
            if shape.inputs % shape.terms.count:
                conditions.append(own < shape.inputs)
        conditions += y_axis.conditions(y) + x_axis.conditions(x)
        value, border = data[n, channel, y_axis.position(y), x_axis.position(x)], 0
        if shifted:
            value, border = shift(value), EXCESS
        return te.select(te.all_of(*conditions), value, border) if conditions else value

    channels = shape.groups * shape.steps
    extents = (data.shape[0], channels, y_axis.size, x_axis.size, *inner)
    return compute(extents, element, name, ["n", "ci", "y", "x", "k"][: len(extents)])


def _packing(weight: Tensor, shape: _Shape, name: str) -> Tensor:
    """The weights in blocks of output channels: `[cb, ci, ky, kx, l]`, with axes of `DotTerms`."""

    def element(cb: Expr, ci: Expr, ky: Expr, kx: Expr, *inner: Expr) -> Expr:
        at, term = shape.terms.split(inner)
        channel, own = cb * shape.channels + at, shape.terms.index(ci, term)
        conditions = []
        if shape.outputs % shape.channels:
            conditions.append(channel < shape.outputs)
        if shape.inputs % shape.terms.count:
            conditions.append(own < shape.inputs)
        value = weight[channel, own, ky, kx]
        return te.select(te.all_of(*conditions), value, 0) if conditions else value

    inner = shape.terms.weight_extents(shape.channels)
    extents = (shape.blocks, shape.steps, *weight.shape[2:], *inner)
    names = ["cb", "ci", "ky", "kx", *shape.terms.weight_names]
    return compute(extents, element, name, names)


def _excess(weight: Tensor, shape: _Shape, name: str) -> Tensor:
    """What shifted data adds to the sums: `[cb, l]`."""
    _, *inner = weight.shape
    axes = [
        reduce_axis(extent, axis) for extent, axis in zip(inner, ("ci", "ky", "kx"), strict=True)
    ]

    def element(cb: Expr, at: Expr) -> Reduction:
        channel = cb * shape.channels + at
        value = te.cast(weight[(channel, *axes)], INT32) * EXCESS
        if shape.outputs % shape.channels:
            value = te.select(channel < shape.outputs, value, 0)
        return te.sum(value, axes)

    return compute((shape.blocks, shape.channels), element, name, ["cb", "l"])


def _sums(padded: Tensor, packed: Tensor, shape: _Shape, dtype: DType, name: str) -> Tensor:
    """The sums, in blocks of output channels."""
    y_axis, x_axis = shape.axes
    ci = reduce_axis(shape.steps, "ci")
    ky, kx = reduce_axis(y_axis.kernel, "ky"), reduce_axis(x_axis.kernel, "kx")
    terms = shape.terms.axes()

    def element(n: Expr, cb: Expr, y: Expr, x: Expr, at: Expr) -> Reduction:
        channel: Expr = ci
        if shape.groups > 1:
            blocks_per_group = shape.outputs // shape.groups // shape.channels
            channel = cb // blocks_per_group * shape.steps + ci
        row = y * y_axis.step + ky * y_axis.dilation
        column = x * x_axis.step + kx * x_axis.dilation
        inner = [shape.terms.data_index(terms)] if terms else []
        left = padded[(n, channel, row, column, *inner)]
        right = packed[(cb, ci, ky, kx, *shape.terms.weight_indices(at, terms))]
        product = te.cast(left, dtype) * te.cast(right, dtype)
        return te.sum(product, (ci, ky, kx, *terms))

    extents = (padded.shape[0], shape.blocks, y_axis.count, x_axis.count, shape.channels)
    return compute(extents, element, name, ["n", "cb", "y", "x", "l"])


class Conv2dOnCpu(LayerOnCpu):
    """A convolution with constant weights, which are packed once."""

    name = "conv2d"
    patterns = layer_patterns("conv2d", rank=4)
    packed = staticmethod(packed_conv2d)
    scheduled = staticmethod(schedule_packed_conv2d)

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        _, channels, rows, columns = workload.result.static_shape("out")
        given = workload.call.attributes
        assert isinstance(given, Conv2d), "verified"
        return channels // given.groups, rows, columns

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

from tandem.compiler import te
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.conv2d_schedule import schedule_packed_conv2d
from tandem.compiler.machines.cpu.templates.conv2d_shape import (
    ConvShape,
    conv_axes,
    excess_of_channels,
    padded_image,
)
from tandem.compiler.machines.cpu.templates.dot_terms import DotTerms
from tandem.compiler.machines.cpu.templates.layer import (
    LayerOnCpu,
    LayerWorkload,
    PackedLayer,
    layer_patterns,
    unpacked_inputs,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, best_tile
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Reduction


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
    constant: bool = True,
) -> PackedLayer | None:
    """`conv2d`, which describes the parameters, with packed weights (`{name}_weight`).

    None where packing does not help: an empty output, or groups that do not fill the vectors of a
    tile, as in a depthwise convolution.

    Parameters
    ----------
    tile
        By default `best_tile`. With groups, its channels must divide a group's; with a
        dot product they are a multiple of its lanes.
    constant
        Whether another program packs the weights; only float ones can be packed with the layer.

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
    axes = conv_axes(
        data, kernel, plain.shape[2:], tile, strides, padding, dilation, copied=dot is not None
    )
    steps = -(-inputs // terms.count)
    shape = ConvShape(groups, inputs, steps, outputs, tile.channels, terms, axes)
    padded = data
    if dot is not None or data.source is not None or not all(each.direct for each in axes):
        padded = padded_image(data, shape, f"{name}_pad", shifted is not None)
    packings = [_packing(weight, shape, f"{name}_weight")]
    if shifted:
        packings.append(excess_of_channels(weight, shape, f"{name}_excess"))
    if not constant and (dot is not None or shifted):
        return None
    packed = unpacked_inputs(packings) if constant else tuple(packings)
    sums = _sums(padded, packed[0], shape, plain.dtype, f"{name}_sum")

    def element(n: Expr, co: Expr, y: Expr, x: Expr) -> Expr:
        value = sums[n, co // tile.channels, y, x, co % tile.channels]
        if shifted:
            value = value - packed[1][co // tile.channels, co % tile.channels]
        return value if bias is None else value + bias[co]

    output = compute(plain.shape, element, name)
    own = tuple(packings) if constant else ()
    return PackedLayer(data, weight, own, packed, padded, sums, output, tile, dot, terms)


def _packing(weight: Tensor, shape: ConvShape, name: str) -> Tensor:
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


def _sums(padded: Tensor, packed: Tensor, shape: ConvShape, dtype: DType, name: str) -> Tensor:
    """The sums, in blocks of output channels."""
    ci = reduce_axis(shape.steps, "ci")
    (ky, kx), terms = shape.window(), shape.terms.axes()

    def element(n: Expr, cb: Expr, y: Expr, x: Expr, at: Expr) -> Reduction:
        inner = [shape.terms.data_index(terms)] if terms else []
        left = padded[(*shape.element((n, cb, y, x), ci, ky, kx), *inner)]
        right = packed[(cb, ci, ky, kx, *shape.terms.weight_indices(at, terms))]
        product = te.cast(left, dtype) * te.cast(right, dtype)
        return te.sum(product, (ci, ky, kx, *terms))

    return compute(shape.sums(padded.shape[0]), element, name, ["n", "cb", "y", "x", "l"])


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

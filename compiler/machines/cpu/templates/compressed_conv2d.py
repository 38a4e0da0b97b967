"""Convolutions on the CPU whose weights stay compressed: codes in bytes, widened in registers.

    group[n, cb, y, x, g, ky, kx, l]    = sum of padded[n, input, row, column] *
                                          widened[cb, g, ky, kx, ci, s, l, k] over ci, s, k
    sum[n, cb, y, x, l]                 = sum of group * scales over g, ky, kx

as in `byte_codes.py`, whose steps and parts are `ci` and `s` here. The padded image has the terms
of a byte's codes last; those beyond the inputs are 0, whatever codes there mean.

To widen a register of weights takes a few instructions, whatever the pixels that share it. Where
they are many, the processor is bound by products, and the weights of int8 come in the meantime:
`most_pixels` and `takes_codes` say where codes gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.byte_codes import (
    CodeLayout,
    CompressedWeight,
    packed_codes,
    packed_scales,
    scale_of,
    widened_codes,
)
from tandem.compiler.machines.cpu.templates.conv2d_schedule import (
    conv_in_tiles,
    conv_on_threads,
)
from tandem.compiler.machines.cpu.templates.conv2d_shape import (
    WINDOW,
    ConvShape,
    conv_axes,
    excess_of_channels,
    padded_image,
)
from tandem.compiler.machines.cpu.templates.dot_terms import DotTerms
from tandem.compiler.machines.cpu.templates.group_sums import CompressedLayer, sums_of_bytes
from tandem.compiler.machines.cpu.templates.layer import PackedLayer, unpacked_inputs
from tandem.compiler.machines.cpu.templates.register_tiles import Tile, best_tile
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import ReduceAxis, Reduction

_DOT_PRODUCTS: Final = frozenset({"avx512vnni", "dotprod"})
"""Features with an instruction that multiplies a register of bytes, and adds."""
_OF_DOT_PRODUCTS, _OF_OTHERS = 4, 1


def most_pixels(machine: CpuTarget) -> int:
    """The most pixels of a result, of all images, for which codes are read: measured on AVX-512
    with VNNI and on AVX2, no layer is slower than in int8 then. Where products take several
    instructions, they are what there is to wait for already at a few pixels."""
    dot = Simd.of(machine).layer_dot(INT8, INT8, INT32)
    features = CPU_INTRINSICS[dot.name].features if dot else frozenset()
    return _OF_DOT_PRODUCTS if features & _DOT_PRODUCTS else _OF_OTHERS


def takes_codes(attributes: Conv2d, result: Type, most: int) -> bool:
    """Whether a convolution gains by reading codes: at most so many pixels share a weight, and all
    channels are in one group."""
    if not isinstance(result, TensorType) or attributes.groups != 1:
        return False
    images, _, *pixels = result.shape
    known = [extent for extent in (images, *pixels) if isinstance(extent, int)]
    return len(known) == 1 + len(pixels) and 0 < math.prod(known) <= most


def compressed_conv2d(
    data: Tensor,
    weight: CompressedWeight,
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
) -> CompressedLayer:
    """`conv2d` of widened weights, computed from packed codes.

    Parameters
    ----------
    tile
        By default `best_tile`.

    Raises
    ------
    Refusal
        The result is empty or no int32, channels are in groups, or weights' groups do not fit
        registers.
    TensorError
        The errors of `conv2d`.
    """
    plain = conv2d(
        data,
        weight.widened,
        bias=bias,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        out_dtype=out_dtype,
        name=name,
    )
    if 0 in plain.shape or plain.dtype != INT32:
        raise Refusal(f"{plain.dtype}{list(plain.shape)}: sums of int32 are computed from codes")
    if groups != 1:
        raise Refusal(f"{groups} groups of channels: codes are read where all are in one")
    _, outputs, rows, columns = plain.shape
    types = data.dtype, weight.widened.dtype, INT32
    shifted, dot = simd.dot_of_shifted(*types), simd.layer_dot(*types)
    tile = tile or best_tile(outputs, rows, columns, INT32, simd, dot)
    layout = CodeLayout.of(weight, tile, dot)
    _, inputs, *kernel = weight.codes.shape
    windows = plain.shape[2:]
    axes = conv_axes(data, kernel, windows, tile, strides, padding, dilation, copied=True)
    terms, steps = DotTerms((layout.parts, layout.depth)), layout.groups * layout.steps
    shape = ConvShape(1, inputs, steps, outputs, tile.channels, terms, axes)
    padded = padded_image(data, shape, f"{name}_pad", shifted is not None, zeros=True)
    packings = [packed_codes(weight, layout, f"{name}_weight")]
    if weight.scales is not None:
        packings.append(packed_scales(weight.scales, layout, f"{name}_scales"))
    if shifted:
        packings.append(excess_of_channels(weight.widened, shape, f"{name}_excess"))
    packed = unpacked_inputs(packings)
    widened = widened_codes(packed[0], weight, layout, f"{name}_widened")
    partial = None
    if weight.scales is None:
        sums = _sums(padded, widened, shape, f"{name}_sum")
    else:
        partial = _group_sums(padded, widened, shape, layout, f"{name}_group")
        sums = _scaled_sums(partial, packed[1], shape, f"{name}_sum")

    def element(n: Expr, co: Expr, y: Expr, x: Expr) -> Expr:
        value = sums[n, co // tile.channels, y, x, co % tile.channels]
        if shifted:
            value = value - packed[-1][co // tile.channels, co % tile.channels]
        return value if bias is None else value + bias[co]

    output = compute(plain.shape, element, name)
    return CompressedLayer(
        data=data,
        weight=weight.widened,
        packings=tuple(packings),
        packed=packed,
        padded=padded,
        sums=sums,
        output=output,
        tile=tile,
        dot=dot,
        terms=terms,
        widened=widened,
        partial=partial,
        lanes=simd.lanes(INT32) if dot is None else dot.outputs[0].size,
    )


def _product(
    padded: Tensor,
    widened: Tensor,
    shape: ConvShape,
    at: Sequence[Expr],
    channel: Expr,
    g: Expr,
    window: Sequence[Expr],
    ci: ReduceAxis,
    terms: Sequence[ReduceAxis],
) -> Expr:
    """A product of the sum of a channel of a block; `ci` counts steps of the group `g`."""
    steps = widened.shape[2 + len(window)]
    ky, kx = window
    place = shape.element(at, g * steps + ci, ky, kx)
    left = padded[(*place, shape.terms.data_index(terms))]
    right = widened[(at[1], g, ky, kx, ci, *shape.terms.weight_indices(channel, terms))]
    return te.cast(left, INT32) * te.cast(right, INT32)


def _sums(padded: Tensor, widened: Tensor, shape: ConvShape, name: str) -> Tensor:
    """The sums of weights without scales, in blocks of output channels."""
    window, ci, terms = shape.window(), reduce_axis(shape.steps, "ci"), shape.terms.axes()

    def element(n: Expr, cb: Expr, y: Expr, x: Expr, at: Expr) -> Reduction:
        place = n, cb, y, x
        product = _product(padded, widened, shape, place, at, index(0), window, ci, terms)
        return te.sum(product, (*window, ci, *terms))

    return compute(shape.sums(padded.shape[0]), element, name, ["n", "cb", "y", "x", "l"])


def _group_sums(
    padded: Tensor, widened: Tensor, shape: ConvShape, layout: CodeLayout, name: str
) -> Tensor:
    """The sums of groups at each element of a window: `[n, cb, y, x, g, ky, kx, l]`."""
    ci, terms = reduce_axis(layout.steps, "ci"), shape.terms.axes()

    def element(*indices: Expr) -> Reduction:
        n, cb, y, x, g, ky, kx, at = indices
        place = n, cb, y, x
        product = _product(padded, widened, shape, place, at, g, (ky, kx), ci, terms)
        return te.sum(product, (ci, *terms))

    *outer, channels = shape.sums(padded.shape[0])
    extents = *outer, layout.groups, *layout.window, channels
    return compute(extents, element, name, ["n", "cb", "y", "x", "g", *WINDOW, "l"])


def _scaled_sums(partial: Tensor, scales: Tensor, shape: ConvShape, name: str) -> Tensor:
    """The sums of groups times their scales, in blocks of output channels."""
    images, *_, groups = partial.shape[:5]
    g, window = reduce_axis(groups, "g"), shape.window()

    def element(n: Expr, cb: Expr, y: Expr, x: Expr, at: Expr) -> Reduction:
        scale = scale_of(scales, cb, g, window, at)
        return te.sum(partial[(n, cb, y, x, g, *window, at)] * scale, (g, *window))

    return compute(shape.sums(images), element, name, ["n", "cb", "y", "x", "l"])


def schedule_compressed_conv2d(layer: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of the layer's program: `schedule_packed_conv2d` with weights widened in the
    inner loop, and sums of groups in registers too.

    Parameters
    ----------
    out
        `layer.output`, or a tensor that is computed from it elementwise.

    Raises
    ------
    ScheduleError
        `out` reduces, or reads neighbours.
    """
    assert isinstance(layer, CompressedLayer), "a layer of compressed weights"
    groups = ("g", *WINDOW) if layer.partial is not None else ()
    steps = ("ci",) if groups else (*WINDOW, "ci")
    schedule = conv_in_tiles(layer, out, layer.widened, layer.partial or layer.sums)
    schedule = sums_of_bytes(schedule, layer, groups, steps, "s", ("y", "x"))
    return conv_on_threads(schedule, layer, out)

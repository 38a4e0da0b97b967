"""Convolution on the GEMM array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler import te
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.operators.accelerator.epilogue import DATA_AXES, Pass, Step, epilogue
from compiler.operators.checks import refuse, show
from compiler.operators.pad import pad
from compiler.operators.window import windows
from compiler.te import Tensor, compute, placeholder, reduce_axis
from compiler.te.tensor import Reduction

__all__ = ["PackedConv2d", "packed_conv2d"]


@dataclass(frozen=True, slots=True)
class PackedConv2d:
    """A convolution in the accelerator's layouts.

    Attributes
    ----------
    data, weight
        int8[N, groups * IC, H, W, B, K] and int8[OC, IC, KH, KW, L, K].
    padded
        The image with its border; `data` where there is none.
    sums
        int32[N, OC, OH, OW, B, L].
    passes
        What follows them, with the names of the stages that do it.
    output
        int8 of the same shape.
    groups
        Of blocks: each output block reads the IC input blocks of its group.
    """

    data: Tensor
    weight: Tensor
    padded: Tensor
    sums: Tensor
    passes: tuple[Step, ...]
    output: Tensor
    strides: tuple[int, int]
    dilation: tuple[int, int]
    groups: int = 1


def packed_conv2d(
    data: Tensor,
    weight: Tensor,
    passes: Sequence[Pass],
    *,
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    name: str = "conv",
) -> PackedConv2d:
    """A convolution of packed int8, and passes of the ALU, to packed int8.

    Stages: `{name}_pad` where there is padding, `{name}_sum`, one for each pass, `name`.

    Parameters
    ----------
    data, weight
        int8[N, groups * IC, H, W, B, K] and int8[OC, IC, KH, KW, L, K].
    padding
        Zeros at the top, the left, the bottom, the right.
    groups
        Of whole blocks, as `packing.pack_groups` makes them.

    Raises
    ------
    TensorError
        Shapes and types that do not fit together; a window larger than the image.
    """
    if len(data.shape) != 6 or data.dtype != INT8:
        refuse("conv2d", name, f"{show(data)} has to be packed, int8[N, IC, H, W, B, K]")
    if len(weight.shape) != 6 or weight.dtype != INT8:
        refuse("conv2d", name, f"{show(weight)} has to be packed, int8[OC, IC, KH, KW, L, K]")
    n, inputs, height, width, batch, depth = data.shape
    outputs, channels, tall, wide, lanes, inner = weight.shape
    if (inputs, depth) != (groups * channels, inner):
        among = f", in {groups} groups," if groups > 1 else ""
        refuse("conv2d", name, f"{show(weight)}{among} has other input channels than {show(data)}")
    if outputs % groups:
        refuse("conv2d", name, f"{show(weight)} has {outputs} output blocks for {groups} groups")
    image = placeholder((n, inputs, height, width), INT8, data.name)
    rows, columns = windows("conv2d", name, image, (tall, wide), strides, padding, dilation)
    padded = data
    if any(padding):
        top, left, bottom, right = padding
        padded = pad(data, (0, 0, top, left, 0, 0, 0, 0, bottom, right, 0, 0), name=f"{name}_pad")
    ic, bi = reduce_axis(channels, "ic"), reduce_axis(depth, "bi")
    ky, kx = reduce_axis(tall, "ky"), reduce_axis(wide, "kx")

    each = outputs // groups

    def element(i: Expr, oc: Expr, y: Expr, x: Expr, b: Expr, bo: Expr) -> Reduction:
        block: Expr = ic
        if groups > 1:
            block = (oc if each == 1 else oc // each) * channels + ic
        pixel = padded[i, block, rows.place(y, ky), columns.place(x, kx), b, bi]
        product = te.cast(pixel, INT32) * te.cast(weight[oc, ic, ky, kx, bo, bi], INT32)
        return te.sum(product, (ic, ky, kx, bi))

    shape = (n, outputs, rows.count, columns.count, batch, lanes)
    sums = compute(shape, element, f"{name}_sum", DATA_AXES)
    output, steps = epilogue(sums, passes, name)
    return PackedConv2d(
        data,
        weight,
        padded,
        sums,
        steps,
        output,
        (rows.stride, columns.stride),
        (rows.dilation, columns.dilation),
        groups,
    )

"""Convolution of images."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te
from compiler.ir.dtypes import DType
from compiler.ir.expr import Expr
from compiler.operators.checks import accumulator_type, check_rank, refuse, show
from compiler.operators.matmul import add_bias
from compiler.operators.window import padded, windows
from compiler.te import Tensor, compute, reduce_axis
from compiler.te.tensor import Reduction


def conv2d(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    out_dtype: DType | None = None,
    name: str = "conv",
) -> Tensor:
    """Convolution: `name[n, co, y, x]`, summed over `ci`, `ky`, `kx`.

    Stages: `{name}_pad` where there is padding; `{name}_sum`, then `name`, where there is a bias.

    Parameters
    ----------
    data
        [N, C, H, W].
    weight
        [O, C / groups, KH, KW].
    bias
        [O], in the type of the result.
    padding
        Zeros at the top, the left, the bottom, the right.
    groups
        Output channels depend on their group's input channels only; C groups are a depthwise
        convolution.
    out_dtype
        The type of sums: see `checks.accumulator_type`.

    Raises
    ------
    TensorError
        Ranks, channels, groups or types do not fit; a window is larger than the image.
    """
    check_rank("conv2d", name, data, 4, "N, C, H, W")
    check_rank("conv2d", name, weight, 4, "O, C / groups, KH, KW")
    batch, channels, _, _ = data.shape
    outputs, inputs, height, width = weight.shape
    if groups < 1 or channels % groups or outputs % groups or channels // groups != inputs:
        refuse(
            "conv2d",
            name,
            f"{show(weight)} has {outputs} output channels and {inputs} input channels a group; "
            f"{show(data)} has {channels} in {groups} groups",
        )
    if inputs == 0:
        refuse("conv2d", name, f"{show(data)} has no channels: there is nothing to sum")
    rows, columns = windows("conv2d", name, data, (height, width), strides, padding, dilation)
    dtype = accumulator_type("conv2d", name, data, weight, out_dtype)
    ci = reduce_axis(inputs, "ci")
    ky, kx = reduce_axis(height, "ky"), reduce_axis(width, "kx")
    image = padded(data, (rows, columns), f"{name}_pad")

    def element(n: Expr, co: Expr, y: Expr, x: Expr) -> Reduction:
        channel: Expr = ci if groups == 1 else co // (outputs // groups) * inputs + ci
        place = (rows.place(y, ky), columns.place(x, kx))
        product = te.cast(image[(n, channel, *place)], dtype) * te.cast(
            weight[co, ci, ky, kx], dtype
        )
        return te.sum(product, (ci, ky, kx))

    shape = (batch, outputs, rows.count, columns.count)
    sums = compute(shape, element, name if bias is None else f"{name}_sum")
    return sums if bias is None else add_bias("conv2d", name, sums, bias, axis=1)

"""Convolution of images."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler import te
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import accumulator_type, check_rank, refuse, show
from tandem.compiler.operators.matmul import add_bias
from tandem.compiler.operators.window import padded, windows
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Reduction


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
    """2-D convolution: `name[n, co, y, x]`, summed over `ci`, `ky`, `kx`.

    Stages: `{name}_pad` if there is padding, `{name}_sum` if there is a bias, `name`.

    Parameters
    ----------
    data
        [N, C, H, W].
    weight
        [O, C / groups, KH, KW].
    bias
        [O], of the result's element type.
    padding
        The numbers of zeros at the top, left, bottom and right.
    groups
        The number of groups: an output channel depends on its group's input channels only; with C
        groups the convolution is depthwise.
    out_dtype
        The accumulator type: see `checks.accumulator_type`.

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
        pixel = (rows.place(y, ky), columns.place(x, kx))
        product = te.cast(image[(n, channel, *pixel)], dtype) * te.cast(
            weight[co, ci, ky, kx], dtype
        )
        return te.sum(product, (ci, ky, kx))

    shape = (batch, outputs, rows.count, columns.count)
    sums = compute(shape, element, name if bias is None else f"{name}_sum")
    return sums if bias is None else add_bias("conv2d", name, sums, bias, axis=1)

"""Images from their windows: the sum of overlapping windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tandem.compiler import te
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import NUMBERS
from tandem.compiler.operators.checks import check_kind, check_minimum, check_rank, refuse, show
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Reduction


def col2im(
    data: Tensor,
    image: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    *,
    name: str = "col2im",
) -> Tensor:
    """The sum of the windows of an image at their positions: `name[n, c, ...]`.

    Parameters
    ----------
    data
        [N, C * elements of a window, windows], both in row-major order.
    image
        The extents of the image, which the windows cover with its padding.
    padding
        Before each axis, then after each.

    Raises
    ------
    TensorError
        Shapes do not fit.
    """
    check_kind("col2im", name, data, *NUMBERS)
    check_rank("col2im", name, data, 3, "N, C * window, windows")
    rank = len(image)
    for what, values, count, least in (
        ("image", image, rank, 1),
        ("kernel", kernel, rank, 1),
        ("strides", strides, rank, 1),
        ("dilation", dilation, rank, 1),
        ("padding", padding, 2 * rank, 0),
    ):
        check_minimum("col2im", name, what, values, count, least)
    counts = [
        (extent + padding[axis] + padding[rank + axis] - dilation[axis] * (kernel[axis] - 1) - 1)
        // strides[axis]
        + 1
        for axis, extent in enumerate(image)
    ]
    batch, elements, windows = data.shape
    if min(counts) < 1 or windows != prod(counts) or elements % prod(kernel):
        refuse("col2im", name, f"{show(data)} has not {counts} windows of {list(kernel)}")
    over = [reduce_axis(extent, f"k{axis}") for axis, extent in enumerate(kernel)]

    def element(n: Expr, c: Expr, *places: Expr) -> Reduction:
        inside, window = [], []
        for axis, (place, k) in enumerate(zip(places, over, strict=True)):
            # The distance of the window's start from the start of the padding.
            start = place + padding[axis] - k * dilation[axis]
            number = start // strides[axis]
            inside += [start >= 0, number < counts[axis], te.equal(start % strides[axis], 0)]
            window.append(number)
        row = _flat(over, kernel, c)
        found = data[n, row, _flat(window, counts, te.const(0, row.dtype))]
        return te.sum(te.select(te.all_of(*inside), found, te.const(0, data.dtype)), over)

    names = ["n", "c", *(f"i{axis}" for axis in range(rank))]
    return compute((batch, elements // prod(kernel), *image), element, name, names)


def _flat(indices: Sequence[Expr], extents: Sequence[int], outer: Expr) -> Expr:
    """The position of `indices` in row-major order, after `outer` whole tensors."""
    result = outer
    for index, extent in zip(indices, extents, strict=True):
        result = result * extent + index
    return result

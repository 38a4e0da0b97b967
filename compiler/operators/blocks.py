"""Windows of convolutions in blocks of images and channels."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler import te
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import check_rank, refuse
from tandem.compiler.operators.pad import inside
from tandem.compiler.operators.window import windows
from tandem.compiler.te import Tensor, compute

DATA_AXES = ("n", "oc", "y", "x", "b", "bo")
"""The names of packed data's axes in outputs."""


def blocks(size: int, block: int) -> int:
    """The number of blocks that hold `size` elements."""
    return -(-size // block)


def pack_windows(
    data: Tensor,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    batch: int,
    block: int,
    name: str = "pack_windows",
) -> Tensor:
    """A convolution's windows as channels, in blocks (im2col): a 1x1 convolution remains.

    [N, C, H, W] to [N / B, C * KH * KW / K, OH, OW, B, K]; the taps of a channel are contiguous,
    as in the weight. For convolutions of few channels, which leave most of a block empty.

    Parameters
    ----------
    kernel, strides, padding, dilation
        Attributes of the convolution; padding is top, left, bottom, right.

    Raises
    ------
    TensorError
        The rank is not 4; a window is larger than the image; `batch` or `block` is under 1.
    """
    check_rank("pack_windows", name, data, 4)
    if batch < 1 or block < 1:
        refuse("pack_windows", name, f"blocks of {batch} and {block}: 1 or more are allowed")
    n, c, _, _ = data.shape
    rows, columns = windows("pack_windows", name, data, kernel, strides, padding, dilation)
    taps = rows.kernel * columns.kernel

    def element(i: Expr, o: Expr, y: Expr, x: Expr, b: Expr, k: Expr) -> Expr:
        image, number = i * batch + b, o * block + k
        channel, tap = number // taps, number % taps
        row = rows.place(y, tap // columns.kernel)
        column = columns.place(x, tap % columns.kernel)
        pixel = data[image, channel, row - rows.before, column - columns.before]
        tests = [
            test
            for window, place in ((rows, row), (columns, column))
            for test in inside(place, window.before, window.extent, window.after)
        ]
        found = te.select(te.all_of(*tests), pixel, te.const(0, data.dtype)) if tests else pixel
        return _within(found, (image, n, batch), (number, c * taps, block))

    shape = (blocks(n, batch), blocks(c * taps, block), rows.count, columns.count, batch, block)
    return compute(shape, element, name, DATA_AXES)


def _within(value: Expr, *places: tuple[Expr, int, int]) -> Expr:
    """The value, or zero where an index exceeds its extent: the padding of the last block."""
    tests = [place < extent for place, extent, block in places if extent % block]
    return te.select(te.all_of(*tests), value, te.const(0, value.dtype)) if tests else value

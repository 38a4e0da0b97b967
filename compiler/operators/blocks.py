"""Packing of tensors into blocks of images and channels, and unpacking.

    data     [N, C, H, W]      ->  [N / B, C / K, H, W, B, K]
    weight   [O, C, H, W]      ->  [O / L, C / K, H, W, L, K]

Sizes are rounded up, and padded with zeros. Yet nothing may rely on zeros in the padding of data
(`compiler.driver.padded_axes`): layers of the accelerator leave other values there, which products
multiply by the zeros in the padding of the weight's channels.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.operators.checks import check_rank, refuse, show
from compiler.operators.pad import inside
from compiler.operators.window import windows
from compiler.te import Tensor, compute

PLANES = 4
"""The bytes of an accumulator, and so the number of planes."""
DATA_AXES = ("n", "oc", "y", "x", "b", "bo")
"""The names of packed data's axes in outputs."""


def blocks(size: int, block: int) -> int:
    """The number of blocks that hold `size` elements."""
    return -(-size // block)


def pack_data(data: Tensor, *, batch: int, block: int, name: str = "pack_data") -> Tensor:
    """[N, C, H, W] to [N / B, C / K, H, W, B, K], rounded up, with zeros.

    Parameters
    ----------
    batch, block
        B and K, the numbers of images and channels in a block, 1 or more.

    Raises
    ------
    TensorError
        The rank is not 4; `batch` or `block` is under 1.
    """
    return _packed("pack_data", name, data, batch, block)


def pack_weight(weight: Tensor, *, lanes: int, block: int, name: str = "pack_weight") -> Tensor:
    """[O, C, H, W] to [O / L, C / K, H, W, L, K], rounded up, with zeros: weights that are computed
    when the network runs.

    Parameters
    ----------
    lanes, block
        L and K, the numbers of outputs and channels in a block, 1 or more.

    Raises
    ------
    TensorError
        The rank is not 4; `lanes` or `block` is under 1.
    """
    return _packed("pack_weight", name, weight, lanes, block)


def unpack_data(data: Tensor, *, shape: Sequence[int], name: str = "unpack_data") -> Tensor:
    """[N / B, C / K, H, W, B, K] to [N, C, H, W], without the padding.

    Raises
    ------
    TensorError
        The rank is not 6; `shape`, packed, has another shape than `data`.
    """
    check_rank("unpack_data", name, data, 6)
    outer, channels, height, width, batch, block = data.shape
    fits = len(shape) == 4 and tuple(shape[2:]) == (height, width)
    if not fits or (blocks(shape[0], batch), blocks(shape[1], block)) != (outer, channels):
        refuse("unpack_data", name, f"{show(data)} is not {list(shape)} in blocks")

    def element(i: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        return data[i // batch, c // block, y, x, i % batch, c % block]

    return compute(shape, element, name)


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
    _positive("pack_windows", name, batch, block)
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


def byte_planes(data: Tensor, *, name: str = "byte_planes") -> Tensor:
    """int32[N, ...] as int8[4 * N, ...]: all lowest bytes, then all second bytes, and so on.

    The accelerator stores int32 results as byte planes. Raises `TensorError` for other types.
    """
    if data.dtype != INT32 or not data.shape:
        refuse("byte_planes", name, f"{show(data)} has to be int32, with a first axis")
    n, *rest = data.shape

    def element(i: Expr, *other: Expr) -> Expr:
        return te.cast(data[i % n, *other] >> te.cast(i // n * 8, INT32), INT8)

    return compute((PLANES * n, *rest), element, name)


def join_planes(data: Tensor, *, name: str = "join_planes") -> Tensor:
    """The inverse of `byte_planes`. Raises `TensorError` for other shapes and types."""
    if data.dtype != INT8 or not data.shape or data.shape[0] % PLANES:
        refuse("join_planes", name, f"{show(data)} has to be int8[{PLANES} * N, ...]")
    first, *rest = data.shape
    n = first // PLANES

    def element(i: Expr, *other: Expr) -> Expr:
        highest = te.cast(data[i + 3 * n, *other], INT32)
        for plane in (2, 1, 0):
            byte = te.cast(data[i + plane * n, *other], INT32) & 0xFF
            highest = (highest << 8) | byte
        return highest

    return compute((n, *rest), element, name)


def _packed(operator: str, name: str, data: Tensor, batch: int, block: int) -> Tensor:
    """[N, C, H, W] to [N / B, C / K, H, W, B, K], rounded up, with zeros."""
    check_rank(operator, name, data, 4)
    _positive(operator, name, batch, block)
    n, c, h, w = data.shape

    def element(i: Expr, o: Expr, y: Expr, x: Expr, b: Expr, k: Expr) -> Expr:
        image, channel = i * batch + b, o * block + k
        return _within(data[image, channel, y, x], (image, n, batch), (channel, c, block))

    shape = (blocks(n, batch), blocks(c, block), h, w, batch, block)
    return compute(shape, element, name, DATA_AXES)


def _within(value: Expr, *places: tuple[Expr, int, int]) -> Expr:
    """The value, or zero where an index exceeds its extent: the padding of the last block."""
    tests = [place < extent for place, extent, block in places if extent % block]
    return te.select(te.all_of(*tests), value, te.const(0, value.dtype)) if tests else value


def _positive(operator: str, name: str, batch: int, block: int) -> None:
    if batch < 1 or block < 1:
        refuse(operator, name, f"blocks of {batch} and {block}: 1 or more are allowed")

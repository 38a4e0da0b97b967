"""Operators that change the shape or the order of elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NoReturn

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import at, broadcast_extents
from tandem.compiler.operators.checks import (
    axes_of,
    axis_of,
    check_minimum,
    check_rank,
    refuse,
    show,
)
from tandem.compiler.te import Tensor, compute


def transpose(
    data: Tensor, perm: Sequence[int] | None = None, *, name: str = "transpose"
) -> Tensor:
    """Axis `perm[d]` of `data` becomes axis d; without `perm` the order of axes is reversed.

    Raises
    ------
    TensorError
        `perm` does not name each axis once.
    """
    rank = len(data.shape)
    order = tuple(reversed(range(rank))) if perm is None else tuple(perm)
    if sorted(order) != list(range(rank)):
        refuse("transpose", name, f"{list(order)} is no order of the axes of {show(data)}")

    def element(*indices: Expr) -> Expr:
        own = dict(zip(order, indices, strict=True))
        return data[tuple(own[each] for each in range(rank))]

    return compute([data.shape[each] for each in order], element, name)


def reshape(
    data: Tensor, shape: Sequence[int], *, allow_zero: bool = False, name: str = "reshape"
) -> Tensor:
    """`data` reshaped to `shape`, in row-major order.

    One extent may be -1: it is inferred from the size. 0 copies the extent of the same axis of
    `data`, or, with `allow_zero`, is an empty axis.

    Raises
    ------
    TensorError
        The shape has another number of elements than `data`, or -1 is not determined.
    """
    return _reshaped(data, _shape(data, shape, allow_zero, name), name)


def flatten(data: Tensor, axis: int = 1, *, name: str = "flatten") -> Tensor:
    """A matrix: axes before `axis` are flattened into rows, axes from `axis` on into columns.

    Raises
    ------
    TensorError
        No such axis.
    """
    at = axis if axis == len(data.shape) else axis_of("flatten", name, data, axis)
    return _reshaped(data, (prod(data.shape[:at]), prod(data.shape[at:])), name)


def squeeze(data: Tensor, axes: Sequence[int] | None = None, *, name: str = "squeeze") -> Tensor:
    """`data` without `axes`, which have extent 1; by default without all axes of extent 1.

    Raises
    ------
    TensorError
        An axis is missing or has another extent.
    """
    if axes is None:
        axes = [axis for axis, extent in enumerate(data.shape) if extent == 1]
    removed = axes_of("squeeze", name, data, axes)
    for axis in removed:
        if data.shape[axis] != 1:
            refuse("squeeze", name, f"axis {axis} of {show(data)} has not extent 1")
    kept = [each for each in range(len(data.shape)) if each not in removed]

    def element(*indices: Expr) -> Expr:
        own = dict(zip(kept, indices, strict=True))
        return data[tuple(own.get(each, 0) for each in range(len(data.shape)))]

    return compute([data.shape[each] for each in kept], element, name)


def unsqueeze(data: Tensor, axes: Sequence[int], *, name: str = "unsqueeze") -> Tensor:
    """`data` with new axes of extent 1 at the positions `axes` of the result.

    Raises
    ------
    TensorError
        An axis is out of range or given twice.
    """
    new = [axis_of("unsqueeze", name, data, each, extra=len(axes)) for each in axes]
    if len(set(new)) != len(new):
        refuse("unsqueeze", name, f"axes {list(axes)} name one axis twice")
    rank = len(data.shape) + len(new)
    extents = iter(data.shape)
    shape = [1 if each in new else next(extents) for each in range(rank)]

    def element(*indices: Expr) -> Expr:
        return data[tuple(i for each, i in enumerate(indices) if each not in new)]

    return compute(shape, element, name)


def expand(data: Tensor, shape: Sequence[int], *, name: str = "expand") -> Tensor:
    """`data` broadcast with `shape`.

    Raises
    ------
    TensorError
        The shapes do not broadcast.
    """

    def refusal(*_: object) -> NoReturn:
        refuse("expand", name, f"{show(data)} does not broadcast with {list(shape)}")

    if any(each < 0 for each in shape):
        refusal()
    result = broadcast_extents((data.shape, shape), refusal)
    return compute(result, lambda *indices: at(data, indices), name)


def tile(data: Tensor, repeats: Sequence[int], *, name: str = "tile") -> Tensor:
    """`data` repeated `repeats[d]` times along axis d.

    Raises
    ------
    TensorError
        Not one number per axis, or a negative number.
    """
    check_minimum("tile", name, "repeats", repeats, len(data.shape), 0)

    def element(*indices: Expr) -> Expr:
        return data[
            tuple(
                i if times == 1 else i % n
                for i, n, times in zip(indices, data.shape, repeats, strict=True)
            )
        ]

    return compute([n * times for n, times in zip(data.shape, repeats, strict=True)], element, name)


def depth_to_space(
    data: Tensor, block: int, *, column_row_depth: bool = False, name: str = "depth_to_space"
) -> Tensor:
    """[N, C, H, W] to [N, C / block**2, H * block, W * block]: channels become blocks of pixels.

    The channel is (row, column, depth), or (depth, row, column) with `column_row_depth`: ONNX's
    modes DCR and CRD.

    Raises
    ------
    TensorError
        The rank is not 4; the channels are no multiple of block**2.
    """
    check_rank("depth_to_space", name, data, 4, "N, C, H, W")
    batch, channels, height, width = data.shape
    if block < 1 or channels % (block * block):
        refuse("depth_to_space", name, f"{show(data)} has no channels for blocks of {block}")
    depth = channels // (block * block)

    def element(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        place = y % block * block + x % block
        channel = c * (block * block) + place if column_row_depth else place * depth + c
        return data[n, channel, y // block, x // block]

    return compute((batch, depth, height * block, width * block), element, name)


def space_to_depth(data: Tensor, block: int, *, name: str = "space_to_depth") -> Tensor:
    """[N, C, H, W] to [N, C * block**2, H / block, W / block]: the inverse of `depth_to_space`.

    Raises
    ------
    TensorError
        The rank is not 4; height or width is no multiple of `block`.
    """
    check_rank("space_to_depth", name, data, 4, "N, C, H, W")
    batch, channels, height, width = data.shape
    if block < 1 or height % block or width % block:
        refuse("space_to_depth", name, f"{show(data)} is not made of blocks of {block}")

    def element(n: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        place = c // max(channels, 1)
        return data[n, c % max(channels, 1), y * block + place // block, x * block + place % block]

    shape = (batch, channels * block * block, height // block, width // block)
    return compute(shape, element, name)


def upsample(data: Tensor, factors: Sequence[int], *, name: str = "upsample") -> Tensor:
    """[N, C, H, W] to [N, C, H * factors[0], W * factors[1]]: each pixel becomes a rectangle.

    Raises
    ------
    TensorError
        The rank is not 4; there are not two factors, or one is less than 1.
    """
    check_rank("upsample", name, data, 4, "N, C, H, W")
    if len(factors) != 2 or min(factors) < 1:
        refuse("upsample", name, f"factors {list(factors)} of {show(data)}: two, from 1 on")
    rows, columns = factors
    batch, channels, height, width = data.shape
    return compute(
        (batch, channels, height * rows, width * columns),
        lambda n, c, y, x: data[n, c, y // rows, x // columns],
        name,
    )


def _shape(data: Tensor, shape: Sequence[int], allow_zero: bool, name: str) -> tuple[int, ...]:
    asked = f"{show(data)} into {list(shape)}"
    found = list(shape)
    for axis, extent in enumerate(found):
        if extent < -1:
            refuse("reshape", name, f"{asked}: {extent} is no extent")
        if extent == 0 and not allow_zero:
            if axis >= len(data.shape):
                refuse("reshape", name, f"{asked}: there is no axis {axis} to take the extent of")
            found[axis] = data.shape[axis]
    size = prod(data.shape)
    if found.count(-1) > 1:
        refuse("reshape", name, f"{asked}: only one extent can be -1")
    if -1 in found:
        others = prod(each for each in found if each != -1)
        if others == 0 or size % others:
            refuse("reshape", name, f"{asked}: {size} elements leave no whole extent for -1")
        found[found.index(-1)] = size // others
    if prod(found) != size:
        refuse("reshape", name, f"{asked}: {size} elements are not {prod(found)}")
    return tuple(found)


def _reshaped(data: Tensor, shape: tuple[int, ...], name: str) -> Tensor:
    """`data` reshaped to a shape of equal size.

    Axes are matched in groups of equal size, which avoids divisions in the indices of unchanged
    axes.
    """
    groups = [] if prod(shape) == 0 else _groups(data.shape, shape)

    def element(*indices: Expr) -> Expr:
        own: list[Expr] = [te.const(0, INDEX) for _ in data.shape]
        for old, new in groups:
            # The row-major index within the group.
            flat = indices[new[0]]
            for axis in new[1:]:
                flat = flat * shape[axis] + indices[axis]
            left = prod(data.shape[each] for each in old)
            size = left
            for axis in old:
                extent = data.shape[axis]
                left //= extent
                index = flat if left == 1 else flat // left
                own[axis] = index if size == left * extent else index % extent
        return data[tuple(own)]

    return compute(shape, element, name)


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The shortest groups of consecutive axes that have equal sizes in both shapes.

    Axes of extent 1 belong to no group.
    """
    left = [each for each, extent in enumerate(old) if extent != 1]
    right = [each for each, extent in enumerate(new) if extent != 1]
    found = []
    while left:
        a, b = [left.pop(0)], [right.pop(0)]
        while (x := prod(old[each] for each in a)) != (y := prod(new[each] for each in b)):
            if x < y:
                a.append(left.pop(0))
            else:
                b.append(right.pop(0))
        found.append((a, b))
    return found

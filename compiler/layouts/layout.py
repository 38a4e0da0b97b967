"""Layouts as values: the order in which a tensor's elements are stored.

A stored tensor has an axis for each part of a layout, in the layout's order. An axis of the tensor
is stored whole, or in blocks: element `i` at `i // size` of one part and `i % size` of another.

    {0, 1/16, 2, 3, _, 1%16}    images in blocks of 16 channels: [N, C / 16, H, W, 1, 16]

Sizes are rounded up to whole blocks. What is stored behind the last element is padding, which is
undefined unless the layout says that it is zero (`1%16=0`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import GraphError
from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.runtime.artifact import PaddedAxis

PLANES = 4
"""The bytes of a 32-bit integer, and so the number of its planes."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole axis of the tensor."""

    axis: int

    def __str__(self) -> str:
        return str(self.axis)


@dataclass(frozen=True, slots=True)
class Outer:
    """The blocks of an axis of the tensor."""

    axis: int
    size: int

    def __str__(self) -> str:
        return f"{self.axis}/{self.size}"


@dataclass(frozen=True, slots=True)
class Inner:
    """The elements of a block of an axis of the tensor.

    Attributes
    ----------
    zero
        Whether the padding of the last block is zero.
    """

    axis: int
    size: int
    zero: bool = False

    def __str__(self) -> str:
        return f"{self.axis}%{self.size}{'=0' * self.zero}"


@dataclass(frozen=True, slots=True)
class One:
    """An axis of one element."""

    def __str__(self) -> str:
        return "_"


@dataclass(frozen=True, slots=True)
class Bytes:
    """The bytes of integers of 32 bits, from the lowest on: a plane of the tensor for each."""

    def __str__(self) -> str:
        return "bytes"


Part: TypeAlias = Whole | Outer | Inner | One | Bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a stored tensor, the outermost first.

    Raises
    ------
    GraphError
        An axis is missing, or not stored once.
    """

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        stored: dict[int, list[Part]] = {}
        for part in self.parts:
            if isinstance(part, Whole | Outer | Inner):
                stored.setdefault(part.axis, []).append(part)
        for axis in range(max(stored, default=-1) + 1):
            match stored.get(axis, []):
                case [Whole()]:
                    pass
                case [Outer(size=size), Inner(size=same)] if size == same and size > 1:
                    pass
                case _:
                    raise GraphError(f"the layout {self} does not store axis {axis} once")
        if self.parts.count(Bytes()) > 1 or -1 in stored:
            raise GraphError(f"the layout {self} has planes of bytes twice, or an unknown axis")

    def __str__(self) -> str:
        return f"{{{', '.join(map(str, self.parts))}}}"

    @property
    def rank(self) -> int:
        """The number of the tensor's axes."""
        return len({part.axis for part in self.parts if isinstance(part, Whole | Outer | Inner)})

    @property
    def blocked(self) -> frozenset[int]:
        """The axes that are stored in blocks."""
        return frozenset(part.axis for part in self.parts if isinstance(part, Outer))

    def block(self, axis: int) -> int:
        """The elements of an axis that are stored together; 1 if the axis is whole."""
        sizes = (part.size for part in self.parts if isinstance(part, Inner) and part.axis == axis)
        return next(sizes, 1)

    def in_planes(self) -> Layout:
        """This layout, of each byte."""
        return Layout((Bytes(), *self.parts))

    def stored_dtype(self, dtype: DType) -> DType | None:
        """The type of the stored elements; None if this layout cannot store `dtype`."""
        if Bytes() not in self.parts:
            return dtype
        return INT8 if dtype == INT32 else None

    def stored_shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """The shape as stored, of a tensor whose axes in blocks have numbers as extents."""
        return tuple(self._extent(part, shape) for part in self.parts)

    def _extent(self, part: Part, shape: Sequence[Any]) -> Any:
        match part:
            case Whole(axis=axis):
                return shape[axis]
            case Outer(axis=axis, size=size):
                return -(-shape[axis] // size)
            case Inner(size=size):
                return size
            case One():
                return 1
            case Bytes():
                return PLANES
            case _:
                assert_never(part)

    def padded_axes(self, shape: Sequence[int]) -> Iterator[tuple[PaddedAxis, bool]]:
        """The axes with padding of a tensor of this shape, and whether it is zero."""
        for at, part in enumerate(self.parts):
            if isinstance(part, Inner) and shape[part.axis] % part.size:
                outer = self.parts.index(Outer(part.axis, part.size))
                yield PaddedAxis(shape[part.axis], outer, at), part.zero

    def positions(self, shape: Sequence[int]) -> NDArray[np.int64]:
        """Where each element of a tensor of this shape is stored: its number, of elements of the
        tensor's type without padding in between; of planes of bytes in the first one."""
        index = np.indices(tuple(shape), dtype=np.int64)
        found = np.zeros(tuple(shape), np.int64)
        parts = [part for part in self.parts if not isinstance(part, Bytes)]
        stored = [self._extent(part, shape) for part in parts]
        for at, part in enumerate(parts):
            step = prod(stored[at + 1 :])
            match part:
                case Whole(axis=axis):
                    found += index[axis] * step
                case Outer(axis=axis, size=size):
                    found += index[axis] // size * step
                case Inner(axis=axis, size=size):
                    found += index[axis] % size * step
                case One():
                    pass
                case _:
                    assert_never(part)
        return found

    def packed(self, values: NDArray[Any]) -> NDArray[Any]:
        """Elements as they are stored, with zeros for padding; of no layout of planes."""
        shape = self.stored_shape(values.shape)
        found = np.zeros(prod(shape), values.dtype)
        found[self.positions(values.shape)] = values
        return found.reshape(shape)


def in_blocks(axis: int, size: int, *, zero: bool = False) -> tuple[Part, Part]:
    """The outer and the inner part of an axis in blocks; blocks of one are the whole axis."""
    return (Outer(axis, size), Inner(axis, size, zero)) if size > 1 else (Whole(axis), One())


def image_blocks(batch: int, block: int) -> Layout:
    """The layout of images [N, C, H, W] in blocks of images and channels."""
    images, image = in_blocks(0, batch)
    channels, channel = in_blocks(1, block)
    return Layout((images, channels, Whole(2), Whole(3), image, channel))


def row_blocks(batch: int, block: int) -> Layout:
    """The layout of rows [N, C], stored as images of one pixel in blocks are."""
    rows, row = in_blocks(0, batch)
    channels, channel = in_blocks(1, block)
    return Layout((rows, channels, One(), One(), row, channel))

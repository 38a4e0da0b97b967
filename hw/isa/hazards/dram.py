"""Which bytes of DRAM each instruction touches, in as few pieces as tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hw.config import HardwareConfig
from hw.encoding import Opcode
from hw.errors import EncodingError
from hw.isa.columns import Columns, Ints
from hw.isa.hazards.micro_ops import Places
from hw.memories import MemoryId

__all__ = ["DramPieces", "Rectangles", "rectangles_of"]

_END_OF_BASES = 1 << 62
"""Below this, the addresses that a base register leads to fit an int64."""
_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Rectangles:
    """What each instruction touches of DRAM: `rows` pieces of `length` bytes, `stride` bytes apart,
    the first at byte `first`. Arrays by instruction; `rows` is 0 where nothing is touched. Rows
    that touch or overlap are one."""

    first: Ints
    stride: Ints
    rows: Ints
    length: Ints
    stores: npt.NDArray[np.bool_]

    @property
    def end(self) -> Ints:
        """One past the last byte; `first` where nothing is touched."""
        last = self.first + (self.rows - 1) * self.stride + self.length
        return np.where(self.rows > 0, last, self.first)

    def row_starts(self, chosen: Ints) -> Ints:
        """The first byte of every row of the instructions `chosen`, one after the other."""
        rows = self.rows[chosen]
        begin = np.repeat(np.cumsum(rows) - rows, rows)
        number = np.arange(len(begin)) - begin
        starts: Ints = np.repeat(self.first[chosen], rows) + number * np.repeat(
            self.stride[chosen], rows
        )
        return starts


def rectangles_of(config: HardwareConfig, columns: Columns, bases: Sequence[int]) -> Rectangles:
    """The DRAM side of a program of legal instructions; `bases` are bytes, by `MemoryId`.

    Raises
    ------
    EncodingError
        A base register that the machine cannot hold, or one of 2^62 or more.
    """
    _check_bases(config, bases)
    sizes = [config.element_bytes(memory) for memory in MemoryId]
    size = np.array([*sizes, 0, 0], dtype=np.int64)[columns.memory_type]
    base = np.array([*bases, 0, 0], dtype=np.int64)[columns.memory_type]
    stores = columns.opcode == Opcode.STORE
    moves = (stores | (columns.opcode == Opcode.LOAD)) & (columns.x_size > 0)
    stride, length = columns.x_stride * size, columns.x_size * size
    dense = stride <= length
    return Rectangles(
        first=np.where(moves, base + columns.dram_base * size, 0),
        stride=np.where(moves & ~dense, stride, 0),
        rows=np.where(moves, np.where(dense, 1, columns.y_size), 0),
        length=np.where(dense, (columns.y_size - 1) * stride + length, length),
        stores=moves & stores,
    )


def _check_bases(config: HardwareConfig, bases: Sequence[int]) -> None:
    if len(bases) != len(MemoryId):
        raise EncodingError(f"{len(bases)} base registers: there are {len(MemoryId)}, one a memory")
    for memory, base in zip(MemoryId, bases, strict=True):
        size = config.element_bytes(memory)
        if not 0 <= base < _END_OF_BASES or base % size:
            raise EncodingError(
                f"the base register of {memory.name} is {base}: it must be a multiple of {size} "
                f"(an element's bytes) in 0..2^62-1"
            )


class DramPieces:
    """DRAM cut wherever a row of some instruction begins or ends, and the pieces numbered.

    No instruction touches part of a piece, so that a piece stands for its bytes. LOADs that meet no
    STORE's hull conflict with nothing, and take no part.
    """

    def __init__(self, rectangles: Rectangles) -> None:
        taking_part = np.flatnonzero(rectangles.stores | _meets_store(rectangles))
        table = [rectangles.first, rectangles.stride, rectangles.rows, rectangles.length]
        # Programs touch the same rectangle again and again: its pieces are found once.
        shapes, which = np.unique(
            np.stack([column[taking_part] for column in table], axis=1), axis=0, return_inverse=True
        )
        first, stride, rows, length = (np.ascontiguousarray(column) for column in shapes.T)
        none = np.zeros(len(shapes), dtype=np.bool_)
        alone = Rectangles(first, stride, rows, length, none)
        starts = alone.row_starts(np.arange(len(shapes)))
        ends = starts + np.repeat(length, rows)
        self._cuts = np.unique(np.concatenate([starts, ends]))
        self._begin = np.searchsorted(self._cuts, starts)
        self._end = np.searchsorted(self._cuts, ends)
        self._row = np.concatenate([[0], np.cumsum(rows)])
        self._shape = np.full(len(rectangles.first), -1, dtype=np.int64)
        self._shape[taking_part] = which.reshape(-1)
        self._places = lru_cache(_KEPT)(self._places_of)

    def __len__(self) -> int:
        """Number of pieces; those between rows count too."""
        return len(self._cuts)

    def address(self, piece: int) -> int:
        """The first byte of a piece."""
        return int(self._cuts[piece])

    def places(self, position: int) -> Places | None:
        """The pieces that an instruction touches; None where none can conflict."""
        shape = int(self._shape[position])
        return None if shape < 0 else self._places(shape)

    def _places_of(self, shape: int) -> Places:
        rows = slice(int(self._row[shape]), int(self._row[shape + 1]))
        begin, end = self._begin[rows], self._end[rows]
        if len(begin) == 1:
            return slice(int(begin[0]), int(end[0]))
        counts = end - begin
        offsets = begin - (np.cumsum(counts) - counts)
        return np.repeat(offsets, counts) + np.arange(int(counts.sum()))


def _meets_store(rectangles: Rectangles) -> npt.NDArray[np.bool_]:
    """Whose hull meets the hull of some STORE."""
    hulls = np.flatnonzero(rectangles.stores)
    hulls = hulls[np.argsort(rectangles.first[hulls])]
    if not len(hulls):
        return np.zeros(len(rectangles.first), dtype=np.bool_)
    first = rectangles.first[hulls]
    # The furthest end of the STOREs that begin no later than each.
    reach = np.maximum.accumulate(rectangles.end[hulls])
    last = np.searchsorted(first, rectangles.end) - 1
    meets: npt.NDArray[np.bool_] = (last >= 0) & (reach[last] > rectangles.first)
    return meets & (rectangles.rows > 0)

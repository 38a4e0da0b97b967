"""The bytes of DRAM that each instruction accesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.bases import bases_by_memory, check_bases
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.isa.columns import Columns, Ints
from tandem.hw.isa.element_sizes import dram_units, element_sizes


@dataclass(frozen=True, slots=True)
class Rectangles:
    """The strided DRAM access of each instruction: `rows` rows of `length` bytes, `stride` bytes
    apart, the first at byte `first`. Arrays by instruction; `rows` is 0 for no access. Rows that
    adjoin or overlap are merged into one."""

    first: Ints
    stride: Ints
    rows: Ints
    length: Ints
    stores: npt.NDArray[np.bool_]

    @property
    def end(self) -> Ints:
        """One past the last byte; `first` for no access."""
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
    """The DRAM accesses of a program of legal instructions; `bases` are bytes, by `MemoryId`.

    Raises
    ------
    EncodingError
        A base register is invalid, see `check_bases`.
    """
    check_bases(config, bases)
    size, unit = element_sizes(config, columns), dram_units(config, columns)
    base = np.array(bases_by_memory(bases), dtype=np.int64)[columns.memory_type]
    stores = columns.opcode == Opcode.STORE
    moves = (stores | (columns.opcode == Opcode.LOAD)) & (columns.x_size > 0)
    stride, length = columns.x_stride * unit, columns.x_size * size
    dense = stride <= length
    return Rectangles(
        first=np.where(moves, base + columns.dram_base * unit, 0),
        stride=np.where(moves & ~dense, stride, 0),
        rows=np.where(moves, np.where(dense, 1, columns.y_size), 0),
        length=np.where(dense, (columns.y_size - 1) * stride + length, length),
        stores=moves & stores,
    )

"""Register tiles: the sums that a loop accumulates in registers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.compiler.ir.dtypes import DType
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints, Space, rank_by
from tandem.compiler.te.knobs import Choice

_LATENCY = 8
"""Independent multiplications that keep two pipelined units of four cycles busy."""
_MOST_VECTORS = 8
LEAST_ROW = 4
"""The least number of columns in a tile whose rows are stored as vectors."""
EVEN_ROW = 8
"""Rows of a multiple of so many columns are preferred: measured, they save a few per cent."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Sums of `channels` adjacent channels at `rows` x `columns` adjacent pixels, in registers;
    channels are the lanes of vectors."""

    channels: int
    rows: int
    columns: int

    @staticmethod
    def of(choice: Choice) -> Tile:
        """The tile of a choice from a `TileSpace`."""
        return Tile(*(int(choice[name]) for name in ("channels", "rows", "columns")))


@dataclass(frozen=True, slots=True)
class TileSpace:
    """The register tiles of an output with so many channels, rows and columns.

    Attributes
    ----------
    threads
        The threads that share blocks of channels, and rows of tiles.
    """

    channels: int
    rows: int
    columns: int
    lanes: int
    registers: int
    threads: int = 1

    @staticmethod
    def of(extents: tuple[int, int, int], dtype: DType, simd: Simd, threads: int = 1) -> TileSpace:
        """The tiles of sums of type `dtype`."""
        return TileSpace(*extents, simd.lanes(dtype), simd.registers, threads)

    @property
    def knobs(self) -> Space:
        """The choices: whole vectors of channels, and numbers of rows and columns."""
        vectors = range(1, min(_MOST_VECTORS, -(-self.channels // self.lanes)) + 1)
        return Space(
            {
                "channels": tuple(number * self.lanes for number in vectors),
                "rows": tuple(range(1, min(self.rows, self.registers) + 1)),
                "columns": tuple(range(1, min(self.columns, self.registers) + 1)),
            }
        )

    def fits(self, choices: Choices) -> Bools:
        """Whether sums fit in registers beside a step's weights and one broadcast element."""
        vectors = choices["channels"] // self.lanes
        pixels = choices["rows"] * choices["columns"]
        return vectors * pixels + vectors + 1 <= self.registers

    def costs(self, choices: Choices) -> Floats:
        """Ranks by the cycles of the busiest thread for the whole output, then by rows that can be
        stored as vectors, of a power of two if possible, whose transposition spills no sums, then
        by the largest tile, then by the longest rows and the fewest weights.

        A step multiplies one or more vectors of weights with each of the tile's pixels. It takes
        as long as its multiplications or its loads, whichever are more, and at least the latency
        of one sum. The last tile of a column has the remaining rows only; tiles over the other
        edges cost as much as whole ones.
        """
        channels, rows, columns = (choices[name] for name in ("channels", "rows", "columns"))
        beside = -(-self.channels // channels) * -(-self.columns // columns)
        tiles = beside * -(-self.rows // rows)
        short = columns < min(LEAST_ROW, self.columns)
        cycles = self.steps(choices) * self.imbalance(choices)
        return rank_by(cycles, short, columns % EVEN_ROW > 0, tiles, rows, channels)

    def steps(self, choices: Choices) -> Ints:
        """The time of one step of all tiles, in multiplications of vectors."""
        channels, rows, columns = (choices[name] for name in ("channels", "rows", "columns"))
        vectors, whole, rest = channels // self.lanes, self.rows // rows, self.rows % rows
        found = whole * step_time(vectors, rows * columns)
        found += np.where(rest > 0, step_time(vectors, rest * columns), 0)
        beside: Ints = -(-self.channels // channels) * -(-self.columns // columns)
        return beside * found

    def imbalance(self, choices: Choices) -> Floats:
        """The tiles of the busiest thread, relative to those of an even distribution."""
        blocks = -(-self.channels // choices["channels"])
        whole, rest = self.rows // choices["rows"], self.rows % choices["rows"]
        # A last tile of fewer rows has code of its own: threads share whole blocks of channels.
        tasks = blocks * np.where((whole > 0) & (rest > 0), 1, whole + (rest > 0))
        return -(-tasks // self.threads) * self.threads / tasks


def step_time(vectors: Ints, pixels: Ints) -> Ints:
    """The time of a step of one tile, in multiplications of vectors."""
    return np.maximum(np.maximum(vectors * pixels, vectors + pixels), _LATENCY)


def best_tile(channels: int, rows: int, columns: int, dtype: DType, simd: Simd) -> Tile:
    """The register tile with the lowest cost for an output of these extents."""
    space = TileSpace.of((channels, rows, columns), dtype, simd)
    choices = space.knobs.choices()
    fitting = choices.where(space.fits(choices))
    return Tile.of(fitting.choice(int(np.argmin(space.costs(fitting)))))

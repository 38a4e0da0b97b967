"""Register tiles: how many sums are carried at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.ir.dtypes import DType
from compiler.operators.cpu.simd import Simd
from compiler.te.knobs import Choice
from compiler.templates.space import Bools, Choices, Floats, Space, rank_by

__all__ = ["Tile", "TileSpace", "best_tile"]

_LATENCY = 8
"""Independent multiplications that keep the units busy: two a cycle, four cycles each."""
_MOST_VECTORS = 8


@dataclass(frozen=True, slots=True)
class Tile:
    """Sums of `channels` adjacent channels at `rows` x `columns` adjacent pixels.

    All stay in registers while terms are added; channels are the lanes of vectors.
    """

    channels: int
    rows: int
    columns: int

    @staticmethod
    def of(choice: Choice) -> Tile:
        """The tile of a choice from a `TileSpace`."""
        return Tile(*(int(choice[name]) for name in ("channels", "rows", "columns")))


@dataclass(frozen=True, slots=True)
class TileSpace:
    """The tiles of so many channels, rows and columns."""

    channels: int
    rows: int
    columns: int
    lanes: int
    registers: int

    @staticmethod
    def of(extents: tuple[int, int, int], dtype: DType, simd: Simd) -> TileSpace:
        """For sums of a type."""
        return TileSpace(*extents, simd.lanes(dtype), simd.registers)

    @property
    def knobs(self) -> Space:
        """Whole vectors of channels, and pixels."""
        vectors = range(1, min(_MOST_VECTORS, -(-self.channels // self.lanes)) + 1)
        return Space(
            {
                "channels": tuple(each * self.lanes for each in vectors),
                "rows": tuple(range(1, min(self.rows, self.registers) + 1)),
                "columns": tuple(range(1, min(self.columns, self.registers) + 1)),
            }
        )

    def fits(self, choices: Choices) -> Bools:
        """Sums fit in registers, beside a step's weights and one broadcast element."""
        vectors = choices["channels"] // self.lanes
        pixels = choices["rows"] * choices["columns"]
        found: Bools = vectors * pixels + vectors + 1 <= self.registers
        return found

    def costs(self, choices: Choices) -> Floats:
        """Cycles for all channels, rows and columns; then the largest tile, then the one with the
        longest rows and the fewest weights.

        A step multiplies a vector or more of weights with each of the tile's pixels. It takes as
        long as its multiplications, or its loads, whichever are more, and never less than the time
        that one sum needs. Tiles over the edge cost as much as whole ones.
        """
        channels, rows, columns = (choices[name] for name in ("channels", "rows", "columns"))
        vectors, pixels = channels // self.lanes, rows * columns
        step = np.maximum(np.maximum(vectors * pixels, vectors + pixels), _LATENCY)
        tiles = -(-self.channels // channels) * -(-self.rows // rows) * -(-self.columns // columns)
        return rank_by(tiles * step, tiles, rows, channels)


def best_tile(channels: int, rows: int, columns: int, dtype: DType, simd: Simd) -> Tile:
    """The tile that costs least."""
    space = TileSpace.of((channels, rows, columns), dtype, simd)
    choices = space.knobs.choices()
    fitting = choices.where(space.fits(choices))
    return Tile.of(fitting.choice(int(np.argmin(space.costs(fitting)))))

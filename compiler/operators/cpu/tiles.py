"""Register tiles: how many sums are carried at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.ir.dtypes import DType
from compiler.operators.cpu.simd import Simd

__all__ = ["Tile", "best_tile"]

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


def best_tile(channels: int, rows: int, columns: int, dtype: DType, simd: Simd) -> Tile:
    """The tile that takes the fewest cycles for all of `channels`, `rows` and `columns`.

    A step multiplies a vector or more of weights with each of the tile's pixels. It takes as long
    as its multiplications, or its loads, whichever are more, and never less than the time that one
    sum needs. Tiles over the edge cost as much as whole ones. Of equals, the largest is best, then
    the one with the longest rows and the fewest weights.
    """
    lanes = simd.lanes(dtype)

    def cost(tile: Tile) -> tuple[int, ...]:
        vectors, pixels = -(-tile.channels // lanes), tile.rows * tile.columns
        step = max(vectors * pixels, vectors + pixels, _LATENCY)
        tiles = -(-channels // tile.channels) * -(-rows // tile.rows) * -(-columns // tile.columns)
        return tiles * step, tiles, tile.rows, tile.channels

    return min(_tiles(channels, rows, columns, lanes, simd.registers), key=cost)


def _tiles(channels: int, rows: int, columns: int, lanes: int, registers: int) -> Iterator[Tile]:
    """All tiles whose sums fit in registers, beside a step's weights and one broadcast element."""
    for vectors in range(1, min(_MOST_VECTORS, -(-channels // lanes)) + 1):
        pixels = (registers - vectors - 1) // vectors
        for height in range(1, min(rows, pixels) + 1):
            for width in range(1, min(columns, pixels // height) + 1):
                yield Tile(vectors * lanes, height, width)

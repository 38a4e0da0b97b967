"""Register tiles: the sums that a loop accumulates in registers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tandem.compiler.ir.dtypes import DType
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints, Space, rank_by
from tandem.compiler.te.knobs import Choice

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


_EVEN = 17 / 16
"""Threads that share work as evenly as that count as even: a helper that comes late makes more of a
difference, and a tile that one thread takes longer for costs as much where none comes."""
_SHORT_ROWS = 1.2
"""The time of a layer whose sums are stored element by element, relative to one with vectors."""


@dataclass(frozen=True, slots=True)
class StepCosts:
    """What a step of a register tile takes beside its multiplications.

    Attributes
    ----------
    beside
        Registers beside those of sums and weights.
    pixel_registers
        Registers for each pixel, whose data is kept for several steps.
    pixel_time
        The time for each pixel, in multiplications of vectors.
    load_time, shared
        The time of a load, and how many steps share one of data.
    latency
        The least time.
    short_rows
        The time of tiles whose rows are too short to be stored as vectors, relative to others'.
    """

    beside: int = 1
    pixel_registers: int = 0
    pixel_time: float = 0
    load_time: float = 0
    shared: int = 1
    latency: int = 8
    short_rows: float = 1

    @staticmethod
    def of(simd: Simd, dot: PrimFunc | None) -> StepCosts:
        """The costs of a processor's multiplications, or of a dot product."""
        costs = StepCosts(
            simd.loaded,
            load_time=simd.load_time,
            latency=simd.latency,
            short_rows=_SHORT_ROWS if simd.load_time else 1,
        )
        known = None if dot is None else CPU_INTRINSICS[dot.name]
        if known is None or known.steps == 1:
            return costs
        return replace(
            costs,
            beside=known.scratch,
            pixel_registers=1,
            pixel_time=known.lane_time,
            shared=known.steps,
        )

    def time(self, vectors: Ints, pixels: Ints) -> Floats:
        """The time of a step of one tile, in multiplications of vectors."""
        loads = self.load_time * (vectors + pixels / self.shared)
        least = step_time(vectors, pixels, self.latency)
        found: Floats = least + self.pixel_time * pixels + loads
        return found


@dataclass(frozen=True, slots=True)
class TileSpace:
    """The register tiles of an output with so many channels, rows and columns.

    Attributes
    ----------
    threads
        The threads that share blocks of channels, and rows of tiles.
    step
        What the inner loop takes.
    """

    channels: int
    rows: int
    columns: int
    lanes: int
    registers: int
    threads: int = 1
    step: StepCosts = StepCosts()

    @staticmethod
    def of(
        extents: tuple[int, int, int],
        dtype: DType,
        simd: Simd,
        threads: int = 1,
        dot: PrimFunc | None = None,
    ) -> TileSpace:
        """The tiles of sums of type `dtype`, which a dot product computes if one is given."""
        registers, step = simd.tile_registers(dtype), StepCosts.of(simd, dot)
        return TileSpace(*extents, simd.lanes(dtype), registers, threads, step)

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
        """Whether sums fit in registers beside a step's weights and data."""
        vectors = choices["channels"] // self.lanes
        pixels = choices["rows"] * choices["columns"]
        data = self.step.pixel_registers * pixels + self.step.beside
        return (vectors * pixels + vectors + data <= self.registers) | (vectors * pixels == 1)

    def costs(self, choices: Choices) -> Floats:
        """Ranks by the cycles of the busiest thread for the whole output, if threads share it
        unevenly, else by those of one; then by rows that can be stored as vectors, of a power of
        two if possible, whose transposition spills no sums, then by the largest tile, then by the
        longest rows and the fewest weights.

        A step multiplies one or more vectors of weights with each of the tile's pixels. It takes
        as long as its multiplications or its loads, whichever are more, and at least the latency
        of one sum; and what `step` adds. The last tile of a column has the remaining rows only;
        tiles over the other edges cost as much as whole ones.
        """
        channels, rows, columns = (choices[name] for name in ("channels", "rows", "columns"))
        beside = -(-self.channels // channels) * -(-self.columns // columns)
        tiles = beside * -(-self.rows // rows)
        short = columns < min(LEAST_ROW, self.columns)
        cycles = self.steps(choices) * np.maximum(self.imbalance(choices), _EVEN)
        cycles = cycles * np.where(short, self.step.short_rows, 1)
        return rank_by(cycles, short, columns % EVEN_ROW > 0, tiles, rows, channels)

    def steps(self, choices: Choices) -> Floats:
        """The time of one step of all tiles, in multiplications of vectors."""
        channels, rows, columns = (choices[name] for name in ("channels", "rows", "columns"))
        vectors, whole, rest = channels // self.lanes, self.rows // rows, self.rows % rows
        found = whole * self.step.time(vectors, rows * columns)
        found += np.where(rest > 0, self.step.time(vectors, rest * columns), 0)
        beside: Floats = -(-self.channels // channels) * -(-self.columns // columns) * found
        return beside

    def imbalance(self, choices: Choices) -> Floats:
        """The tiles of the busiest thread, relative to those of an even distribution."""
        blocks = -(-self.channels // choices["channels"])
        whole, rest = self.rows // choices["rows"], self.rows % choices["rows"]
        # A last tile of fewer rows has code of its own: threads share whole blocks of channels.
        tasks = blocks * np.where((whole > 0) & (rest > 0), 1, whole + (rest > 0))
        return -(-tasks // self.threads) * self.threads / tasks


def step_time(vectors: Ints, pixels: Ints, latency: int) -> Ints:
    """The time of a step of one tile, in multiplications of vectors: that of its multiplications or
    of its loads, and at least the latency of one sum."""
    return np.maximum(np.maximum(vectors * pixels, vectors + pixels), latency)


def best_tile(
    channels: int, rows: int, columns: int, dtype: DType, simd: Simd, dot: PrimFunc | None = None
) -> Tile:
    """The register tile with the lowest cost for an output of these extents; `dot` as in
    `TileSpace.of`."""
    space = TileSpace.of((channels, rows, columns), dtype, simd, dot=dot)
    choices = space.knobs.choices()
    fitting = choices.where(space.fits(choices))
    return Tile.of(fitting.choice(int(np.argmin(space.costs(fitting)))))

"""Tiles of an output's channels and pixels, for operators whose work lies in ACC alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.operators.accelerator.capacity import (
    Sizes,
    Space,
    cheapest,
    pieces,
    resident_or_not,
    shared_axis,
)
from compiler.operators.accelerator.epilogue import Step
from compiler.operators.accelerator.passes_schedule import OperandCounts
from compiler.te import Schedule, Tensor
from hw.config import HardwareConfig
from hw.memories import MemoryId

__all__ = ["Tile", "choose_tile", "cut"]


@dataclass(frozen=True, slots=True)
class Tile:
    """Sizes of a tile of the output.

    Attributes
    ----------
    oc, y, x
        Blocks of channels, rows, columns.
    threads
        Virtual threads.
    along
        The axis whose tiles they share: oc, y or x.
    resident
        Operands for each channel are loaded once and stay; otherwise each tile loads its own.
    """

    oc: int
    y: int
    x: int
    threads: int = 2
    along: str = "oc"
    resident: bool = True


def cut(schedule: Schedule, output: Tensor, tile: Tile) -> Schedule:
    """The loops of a stage over packed data as tiles, shared by virtual threads.

    for n, oc, y, x, b, bo: ...   ->   for n, oc_o, y_o, x_o:
                                         for thread:
                                           for oc_i, y_i, x_i, b, bo: ...
    """
    name = output.name
    for axis, size in (("oc", tile.oc), ("y", tile.y), ("x", tile.x)):
        schedule = schedule.split(name, axis, size, (f"{axis}_o", f"{axis}_i"))
    outer = f"{tile.along}_o"
    return (
        schedule.split(name, outer, tile.threads, (outer, "thread"))
        .reorder(name, "n", "oc_o", "y_o", "x_o", "thread", "oc_i", "y_i", "x_i", "b", "bo")
        .virtual_thread(name, "thread")
    )


def choose_tile(
    what: str,
    output: Tensor,
    steps: Sequence[Step],
    config: HardwareConfig,
    threads: int,
    loaded: Callable[[int, int], int],
    kept: int,
) -> Tile:
    """The tiles that load least; of these, the fewest.

    Parameters
    ----------
    what
        The operator, for messages.
    loaded
        From rows and columns of a tile to the elements that it loads, for a block of channels.
    kept
        Accumulators that it keeps beside these and the operands of passes, for each element of the
        tile.

    Raises
    ------
    CapacityError
        Where not even tiles of one element fit in ACC.
    """
    _, channels, height, width, _, _ = output.shape
    extents = {"oc": channels, "y": height, "x": width}
    along, threads = shared_axis(extents, threads)
    counts = OperandCounts.of(steps)

    def tile(resident: bool) -> Tile:
        def use(sizes: Sizes) -> dict[MemoryId, int]:
            oc, y, x = sizes
            each = loaded(y, x) + (kept + counts.elements) * y * x
            operands = counts.channels * (channels if resident else threads * oc)
            return {MemoryId.ACC: threads * oc * each + operands}

        def cost(sizes: Sizes) -> tuple[int, int, int]:
            oc, y, x = sizes
            number = pieces(channels, oc) * pieces(height, y) * pieces(width, x)
            traffic = sum(
                rows * columns * loaded(tall, wide)
                for tall, rows in _cut(height, y)
                for wide, columns in _cut(width, x)
            )
            return traffic, number, -x

        most = {along: pieces(extents[along], threads)}
        oc, y, x = cheapest(Space(what, extents, use, cost, most), config)
        return Tile(oc, y, x, threads, along, resident)

    return resident_or_not(tile, counts.channels * channels, config)


def _cut(extent: int, size: int) -> tuple[tuple[int, int], ...]:
    """The sizes of an axis' tiles, and how many there are of each."""
    whole, rest = divmod(extent, size)
    return (size, whole), (rest, min(rest, 1))

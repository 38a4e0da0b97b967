"""An analytic estimate of a convolution's cycles: its steps, played on three decoupled modules.

The estimate knows what the compiler will emit, tile by tile: which loads a step of the sum needs,
how long they and the arithmetic take, and what waits for what. It leaves out single cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

from compiler.operators.accelerator.conv2d_durations import Durations, Tile
from compiler.operators.accelerator.conv2d_shape import ConvShape
from compiler.operators.accelerator.machine_cost import MachineCost
from compiler.operators.accelerator.tiling import Order, Tiling
from hw.memories import MemoryId

__all__ = ["ConvShape", "estimate"]

_LONGEST = 1500
"""Steps that are played; of longer programs the rest is taken to go on at the same pace."""


@dataclass(slots=True)
class _Clock:
    """When each module is done with what it was given, and when buffers are free."""

    inputs: list[int]
    """By thread: when its last product is done."""
    results: list[int]
    """By thread: when its last result is stored."""
    load: int = 0
    compute: int = 0
    store: int = 0


def estimate(shape: ConvShape, tiling: Tiling, cost: MachineCost) -> float:
    """Cycles from launch to done, about."""
    clock = _Clock([0] * tiling.threads, [0] * tiling.threads)
    clock.compute = cost.load(MemoryId.UOP, 2 * tiling.threads * 64)
    clock.compute += shape.channel_operands * cost.load(MemoryId.ACC, shape.oc)
    clock.load = clock.compute // 4
    durations = Durations(shape, tiling, cost)
    played = 0
    steps = -(-shape.ic // tiling.ic)
    groups = _groups(shape, tiling)
    most = max(4, _LONGEST // (steps * tiling.threads))
    times = []
    previous: tuple[int, ...] | None = None
    for key, tiles in islice(groups, most):
        _play(durations, clock, tiles, steps, key != previous)
        previous = key
        played += sum(map(prod, tiles))
        times.append((played, clock.compute))
    total = shape.batches * shape.oc * shape.y * shape.x
    end = float(clock.compute)
    if played < total:
        # The second half of what was played shows the pace.
        first, second = times[len(times) // 2 - 1], times[-1]
        pace = (second[1] - first[1]) / max(1, second[0] - first[0])
        end += pace * (total - played)
    return end + max(0, clock.store - clock.compute) + cost.overhead


_Group = tuple[tuple[int, ...], Sequence[Tile]]


def _groups(shape: ConvShape, tiling: Tiling) -> Iterator[_Group]:
    """Tiles that threads work on together, in their order; and what stays on chip meanwhile."""
    sizes = {"oc": tiling.oc, "y": tiling.y, "x": tiling.x}
    whole = {"oc": shape.oc, "y": shape.y, "x": shape.x}
    along = tiling.along
    counts = {axis: -(-whole[axis] // sizes[axis]) for axis in sizes}
    counts[along] = -(-counts[along] // tiling.threads)
    order = ("y", "x", "oc") if tiling.order is Order.IMAGE else ("oc", "y", "x")
    for batch in range(shape.batches):
        for turn in product(*(range(counts[axis]) for axis in order)):
            at = dict(zip(order, turn, strict=True))
            tiles = []
            for thread in range(tiling.threads):
                mine = {**at, along: at[along] * tiling.threads + thread}
                extents = [min(sizes[a], whole[a] - mine[a] * sizes[a]) for a in ("oc", "y", "x")]
                if min(extents) > 0:
                    tiles.append((extents[0], extents[1], extents[2]))
            match tiling.order:
                case Order.WEIGHTS:
                    key: tuple[int, ...] = (batch, at["oc"])
                case Order.IMAGE:
                    key = (batch, at["y"], at["x"])
                case Order.OUTPUTS:
                    key = (batch, *turn)
            yield key, tiles


def _play(
    durations: Durations, clock: _Clock, tiles: Sequence[Tile], steps: int, fresh: bool
) -> None:
    """Let time pass for one group of tiles."""
    shape, tiling = durations.shape, durations.tiling
    if fresh and tiling.order is not Order.OUTPUTS:
        # What stays is loaded for all threads, when nobody uses the last one any more.
        clock.load = max(clock.load, *clock.inputs) + durations.kept(max(tiles))
    for step in range(steps):
        ic = min(tiling.ic, shape.ic - step * tiling.ic)
        work = [durations.step(tile, ic) for tile in tiles]
        ready = []
        for (loads, _), free in zip(work, clock.inputs, strict=False):
            clock.load = max(clock.load, free) + loads
            ready.append(clock.load)
        for thread, (_, products) in enumerate(work):
            if step == 0:
                clock.compute = max(clock.compute, clock.results[thread]) + prod(tiles[thread])
            clock.compute = max(clock.compute, ready[thread]) + products
            clock.inputs[thread] = clock.compute
    for thread, tile in enumerate(tiles):
        passes, store = durations.results(tile)
        clock.compute += passes
        clock.store = max(clock.store, clock.compute) + store
        clock.results[thread] = clock.store + durations.cost.overhead

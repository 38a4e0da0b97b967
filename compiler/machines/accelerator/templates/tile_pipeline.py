"""A simulation of tiles on the decoupled units load, compute and store, which estimates cycles.

Threads share the tiles of an output along three axes; each tile is a sum in steps. The durations of
the loads, products, passes and stores of a tile are given; the dependences between them are
simulated tile by tile. Single cycles are neglected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.plan.space import Floats, Ints
from hw.jit import compiled

LONGEST = 1500
"""Maximum number of simulated steps; a longer program is extrapolated at the same rate."""


@dataclass(frozen=True, slots=True)
class TilePipeline:
    """The pipelines of n choices, the first dimension of each array; durations are in cycles.

    Attributes
    ----------
    extents
        [n, 3]: extents of the output.
    sizes
        [n, 3]: sizes of a tile.
    loops
        [n, 3]: axes in the order of their loops, the outermost first.
    along
        The axis whose tiles the threads share.
    kept_loops
        Number of outer loops around the load of the operand that stays on chip; 0 if no operand
        stays.
    steps
        Number of steps of a tile's sum.
    kept
        [n, 2, 2, 2]: duration of loading the operand that stays. Here and below, index 1 is a
        whole tile along an axis, 0 the remainder at the end of the axis.
    loads, products
        [n, 2, 2, 2, 2]: durations of a step; the last index is 0 for the last step, else 1.
    passes, operands, stores
        [n, 2, 2, 2]: durations of a tile. `operands` are loaded by the load unit, for the passes.
    begin
        Start cycles of compute and of load.
    resets
        Whether a tile's sums are reset before its products.
    early
        Whether a thread's passes follow its last products, before those of the next thread.
    """

    batches: int
    extents: Ints
    sizes: Ints
    loops: Ints
    along: Ints
    kept_loops: Ints
    threads: Ints
    steps: Ints
    kept: Ints
    loads: Ints
    products: Ints
    passes: Ints
    operands: Ints
    stores: Ints
    begin: tuple[Ints, Ints]
    overhead: int
    resets: bool = True
    early: bool = False

    def cycles(self) -> Floats:
        """Estimated cycles from launch to done."""
        found = np.zeros(len(self.steps), np.float64)
        tiles, steps = (len(found), 2, 2, 2), (len(found), 2, 2, 2, 2)
        threads = int(self.threads.max(initial=1))
        numbers = (self.along, self.kept_loops, self.threads, self.steps, *self.begin)
        _simulate(
            found,
            np.ascontiguousarray(np.stack(numbers, axis=1)),
            np.ascontiguousarray(np.stack([self.extents, self.sizes, self.loops], axis=1)),
            _stacked(tiles, self.kept, self.passes, self.stores, self.operands),
            _stacked(steps, self.loads, self.products),
            self.batches,
            self.overhead,
            int(self.resets),
            int(self.early),
            np.zeros((8, max(3, threads)), np.int64),
            np.zeros((threads, 3), np.int64),
        )
        return found


def ends(extents: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """The sizes of tiles along three axes, [n, 2, 2, 2] each: index 0 is the remainder at the end
    of an axis, and 1 a whole tile.

    Parameters
    ----------
    extents, sizes
        [3] and [n, 3].
    """
    rest = extents - (-(-extents // sizes) - 1) * sizes
    both = np.stack([rest, sizes], axis=1)
    found = (both[:, at, axis] for axis, at in enumerate(np.ix_([0, 1], [0, 1], [0, 1])))
    a, b, c = (np.broadcast_to(each, (len(sizes), 2, 2, 2)) for each in found)
    return a, b, c


def _stacked(shape: tuple[int, ...], *arrays: Ints) -> Ints:
    stacked = np.stack([np.broadcast_to(each, shape) for each in arrays], axis=1)
    return np.ascontiguousarray(stacked)


@compiled
def _simulate(
    found: Floats,
    numbers: Ints,
    axes: Ints,
    tiles: Ints,
    parts: Ints,
    batches: int,
    overhead: int,
    resets: int,
    early: int,
    scratch: Ints,
    whole: Ints,
) -> None:
    """The simulation: a loop over choices, groups of tiles, steps and threads."""
    at, counts, volume = scratch[0], scratch[1], scratch[2]
    inputs, results = scratch[3], scratch[4]  # Cycles of a thread's last product, and last store.
    ready, wanted = scratch[5], scratch[6]  # Cycles of its last operand load, and that for passes.
    passed = scratch[7]  # Cycle of its last pass.
    for row in range(len(found)):
        along, kept_loops = numbers[row, 0], numbers[row, 1]
        threads, steps = numbers[row, 2], numbers[row, 3]
        compute, load = numbers[row, 4], numbers[row, 5]
        extents, sizes, loops = axes[row, 0], axes[row, 1], axes[row, 2]
        for axis in range(3):
            counts[axis] = (extents[axis] + sizes[axis] - 1) // sizes[axis]
        counts[along] = (counts[along] + threads - 1) // threads
        groups = batches * counts[0] * counts[1] * counts[2]
        most = max(4, LONGEST // (steps * threads))
        for thread in range(len(whole)):
            inputs[thread] = results[thread] = ready[thread] = wanted[thread] = 0
            passed[thread] = volume[thread] = 0
            for axis in range(3):
                whole[thread, axis] = 0
        store = simulated = half_simulated = half_compute = 0
        previous = -1
        for group in range(min(groups, most)):
            rest = group
            for position in range(2, -1, -1):
                axis = loops[position]
                at[axis] = rest % counts[axis]
                rest //= counts[axis]
            # An operand that stays on chip serves all iterations of the inner loops.
            inner = 1
            for position in range(kept_loops, 3):
                inner *= counts[loops[position]]
            fresh = kept_loops > 0 and group // inner != previous
            previous = group // inner
            working = 0
            for thread in range(threads):
                size = 1
                for axis in range(3):
                    tile = at[axis] * threads + thread if axis == along else at[axis]
                    extent = min(sizes[axis], extents[axis] - tile * sizes[axis])
                    whole[working, axis] = extent == sizes[axis]
                    size *= max(0, extent)
                if size > 0:
                    volume[working] = size
                    working += 1
            if fresh:
                # The new operand is loaded for all threads, after the old operand's last use.
                for thread in range(threads):
                    load = max(load, inputs[thread])
                load += tiles[row, 0, whole[0, 0], whole[0, 1], whole[0, 2]]
            for step in range(steps):
                last = 0 if step == steps - 1 else 1
                for thread in range(working):
                    a, b, c = whole[thread, 0], whole[thread, 1], whole[thread, 2]
                    load = max(load, inputs[thread]) + parts[row, 0, a, b, c, last]
                    ready[thread] = load
                for thread in range(working):
                    # What is loaded for a tile's passes follows the loads of its last step.
                    a, b, c = whole[thread, 0], whole[thread, 1], whole[thread, 2]
                    wanted[thread] = 0
                    if last == 0 and tiles[row, 3, a, b, c] > 0:
                        load = max(load, passed[thread]) + tiles[row, 3, a, b, c]
                        wanted[thread] = load
                for thread in range(working):
                    a, b, c = whole[thread, 0], whole[thread, 1], whole[thread, 2]
                    if step == 0:
                        compute = max(compute, results[thread]) + volume[thread] * resets
                    compute = max(compute, ready[thread]) + parts[row, 1, a, b, c, last]
                    inputs[thread] = compute
                    if early and last == 0:
                        compute = max(compute, wanted[thread]) + tiles[row, 1, a, b, c]
                        passed[thread] = compute
            for thread in range(working):
                a, b, c = whole[thread, 0], whole[thread, 1], whole[thread, 2]
                if not early:
                    compute = max(compute, wanted[thread]) + tiles[row, 1, a, b, c]
                    passed[thread] = compute
                store = max(store, passed[thread]) + tiles[row, 2, a, b, c]
                results[thread] = store + overhead
                simulated += volume[thread]
            if group == most // 2 - 1:
                half_simulated, half_compute = simulated, compute
        end = float(compute)
        total = batches * extents[0] * extents[1] * extents[2]
        if simulated < total:
            # Extrapolate at the rate of the second half of the simulated steps.
            pace = (compute - half_compute) / max(1, simulated - half_simulated)
            end += pace * (total - simulated)
        found[row] = end + max(0, store - compute) + overhead

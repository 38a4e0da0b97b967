"""The choice of a convolution's wide space with the least estimate, found without estimating all.

Slots multiply the sizes of tiles by forty. So tiles come first, with one slot of each kind and
every operand loaded once: what such a tile takes at least (`TileCycles.least`), its choices
take at least. Tiles are looked at from the least bound on, until that is above the best estimate;
of the choices of a tile those are simulated whose own bound is not, and each only until it is
certain to be worse. What is left out cannot be the best, so that the result is the one of `argmin`
over all choices that fit.
"""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np

from tandem.compiler.machines.accelerator.templates.conv2d_pipelined import (
    SLOTS,
    consistent,
    space,
    usage,
)
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_cycles import (
    PipelinedCycles,
    TileCycles,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.plan.space import Bools, Choices, Ints
from tandem.compiler.te.knobs import Setting

_FIRST: Final = 16
"""Number of tiles that are expanded first; every further batch has four times as many."""
_MOST: Final = 1024
"""Number of tiles in a batch, at most."""


def best_choice(
    workload: Conv2dWorkload, cost: MachineCost, below: float
) -> tuple[dict[str, Setting], float] | None:
    """The choice that fits with the least estimate, and that: the first one of the space if there
    are several; None if no estimate is below this number of cycles."""
    tiles = _tiles(workload, cost)
    stages = TileCycles.of(workload, tiles, cost)
    bounds = stages.least()
    order = np.argsort(bounds, kind="stable")
    limit, best = float(np.nextafter(below, 0)), None
    at, many = 0, _FIRST
    while at < len(order) and bounds[order[at]] <= limit:
        rows = order[at : at + many]
        which, numbers, choices = _with_slots(tiles, rows[bounds[rows] <= limit])
        possible = consistent(workload, choices) & _fit(workload, choices, cost)
        numbers, choices = numbers[possible], choices.where(possible)
        cycles = PipelinedCycles.of(stages, which[possible], choices)
        least = cycles.least()
        near = np.flatnonzero(least <= limit)
        near = near[np.argsort(least[near], kind="stable")]
        found = cycles.simulated(near, limit)
        for row in np.flatnonzero(np.isfinite(found)):
            key = float(found[row]), int(numbers[near[row]])
            if best is None or key < best[0]:
                best = key, choices.choice(int(near[row]))
        limit = limit if best is None else best[0][0]
        at, many = at + many, min(4 * many, _MOST)
    return None if best is None else (best[1], best[0][0])


def _tiles(workload: Conv2dWorkload, cost: MachineCost) -> Choices:
    """The choices with one slot of each kind that fit, in the order of the space."""
    found = space(workload).choices({name: (1,) for name in SLOTS})
    return found.where(_fit(workload, found, cost))


def _with_slots(tiles: Choices, rows: Ints) -> tuple[Ints, Ints, Choices]:
    """The choices of some tiles with all numbers of slots: rows of tiles, and what has the order
    of the space."""
    several = prod(len(settings) for settings in SLOTS.values())
    grid = np.meshgrid(*(np.array(settings) for settings in SLOTS.values()), indexing="ij")
    columns = {name: np.repeat(column[rows], several) for name, column in tiles.columns.items()}
    columns |= {
        name: np.tile(column.ravel(), len(rows)) for name, column in zip(SLOTS, grid, strict=True)
    }
    numbers = (rows[:, None] * several + np.arange(several)).ravel()
    return np.repeat(rows, several), numbers, Choices(columns, tiles.settings)


def _fit(workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Bools:
    """A mask of the choices that fit on chip."""
    needed = usage(workload, choices).items()
    fitting = [used <= cost.config.depth(memory) for memory, used in needed]
    return np.logical_and.reduce(fitting)

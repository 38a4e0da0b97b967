"""The choice of a convolution's wide space with the least estimate, found without estimating all.

Slots multiply the sizes of tiles by forty. So tiles come first, with one slot of each kind and
every operand loaded once: what such a tile takes at least (`TileCycles.least`), its choices
take at least; and what the bus takes, with the slots of each operand that load least of those that
fit. Tiles are looked at from the least bound on, until that is above the best estimate;
of the choices of a tile those are simulated whose own bound is not, and each only until it is
certain to be worse. What is left out cannot be the best, so that the result is the one of `argmin`
over all choices that fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from tandem.compiler.machines.accelerator.templates.conv2d_pipelined import (
    ALL,
    SLOTS,
    consistent,
    image_of_slot,
    image_repeats,
    loads_of_tile,
    space,
    usage,
    weight_repeats,
    weights_of_slot,
)
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_cycles import (
    FREE,
    PipelinedCycles,
    Prices,
    TileCycles,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints
from tandem.compiler.te.knobs import Setting
from tandem.hw.topology import MemoryId

Repeats: TypeAlias = Callable[[Conv2dWorkload, Choices], Ints]
"""How often choices load an operand."""
_FIRST: Final = 64
"""Number of tiles that are expanded first; every further batch has four times as many."""
_MOST: Final = 1024
"""Number of tiles in a batch, at most."""


def best_choice(
    workload: Conv2dWorkload, cost: MachineCost, below: float, prices: Prices = FREE
) -> tuple[dict[str, Setting], float] | None:
    """The choice that fits with the least estimate, prices included, and that: the first one of the
    space if there are several; None if no estimate is below this number of cycles."""
    tiles = _tiles(workload, cost)
    stages = TileCycles.of(workload, tiles, cost, prices)
    bounds = stages.least()
    limit, best = float(np.nextafter(below, 0)), None
    near = np.flatnonzero(bounds <= limit)
    loading = _Loading.of(stages, near)
    bounds = np.maximum(bounds[near], loading.least + (stages.others + stages.extra)[near])
    order = np.argsort(bounds, kind="stable")
    at, many = 0, _FIRST
    while at < len(order) and bounds[order[at]] <= limit:
        rows = order[at : at + many]
        which, numbers, choices = loading.with_slots(rows[bounds[rows] <= limit], limit)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Loading:
    """Cycles of the bus for the image and the weights of some tiles, by the settings of their
    slots; infinite for those that do not fit.

    Attributes
    ----------
    rows
        The rows of the tiles, of those of `stages`.
    image, weights
        [tiles, settings] of `SLOTS`.
    """

    stages: TileCycles
    rows: Ints
    image: Floats
    weights: Floats

    @staticmethod
    def of(stages: TileCycles, rows: Ints) -> _Loading:
        """The loads of the tiles of these rows."""
        workload, config = stages.workload, stages.cost.config
        tiles = stages.choices.where(rows).at_most(workload.extents)
        loads = loads_of_tile(workload, tiles)
        one = usage(workload, tiles)

        def times(knob: str, memory: MemoryId, slot: Ints, repeats: Repeats) -> Floats:
            found = np.empty((len(rows), len(SLOTS[knob])))
            # The tiles have one slot: others add to what that takes.
            free = config.depth(memory) - one[memory]
            for at, setting in enumerate(SLOTS[knob]):
                chosen = np.full(len(rows), setting)
                taken = loads[knob] if setting == ALL else chosen
                fits = (taken - 1) * slot <= free
                if setting == ALL:
                    fits &= loads[knob] > max(SLOTS[knob])
                choices = Choices({**tiles.columns, knob: chosen}, tiles.settings)
                found[:, at] = np.where(fits, repeats(workload, choices), np.inf)
            return found

        of_weights = weights_of_slot(workload, tiles)
        of_image = image_of_slot(workload, tiles)
        weights = times("weight_slots", MemoryId.WGT, of_weights, weight_repeats)
        image = times("image_slots", MemoryId.INP, of_image, image_repeats)
        weights *= stages.weights[rows, None]
        image *= stages.image[rows, None]
        return _Loading(stages, rows, image, weights)

    @property
    def least(self) -> Floats:
        """With the slots that load least."""
        return self.image.min(axis=1) + self.weights.min(axis=1)

    def with_slots(self, which: Ints, limit: float) -> tuple[Ints, Ints, Choices]:
        """The choices of some tiles with slots whose loads are not above a limit: rows of tiles,
        and what has the order of the space."""
        tiles = self.stages.choices
        extra = (self.stages.others + self.stages.extra)[self.rows[which]]
        loading = self.image[which, :, None] + self.weights[which, None, :] + extra[:, None, None]
        within = np.repeat((loading <= limit)[..., None], len(SLOTS["sum_slots"]), axis=3)
        tile, *settings = np.nonzero(within)
        rows = self.rows[which[tile]]
        columns = {name: column[rows] for name, column in tiles.columns.items()}
        number = rows
        for (name, known), setting in zip(SLOTS.items(), settings, strict=True):
            columns[name] = np.array(known)[setting]
            number = number * len(known) + setting
        return rows, number, Choices(columns, tiles.settings)


def _tiles(workload: Conv2dWorkload, cost: MachineCost) -> Choices:
    """The choices with one slot of each kind that fit, in the order of the space."""
    found = space(workload).choices({name: (1,) for name in SLOTS})
    return found.where(_fit(workload, found, cost))


def _fit(workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Bools:
    """A mask of the choices that fit on chip."""
    needed = usage(workload, choices).items()
    fitting = [used <= cost.config.depth(memory) for memory, used in needed]
    return np.logical_and.reduce(fitting)

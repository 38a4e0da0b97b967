"""Elimination of dead loads, and delay of accumulator resets until the first use."""

from __future__ import annotations

import numpy as np

from compiler.machines.accelerator.lower.commands import Commands, Compute, Copy
from compiler.machines.accelerator.lower.compiled import late_order, used_loads
from compiler.machines.accelerator.lower.footprints import Footprints, chip_elements
from hw.config import HardwareConfig
from hw.topology import MemoryId

_NO_DATA = (MemoryId.UOP, MemoryId.OUT)


def drop_unused_loads(
    commands: Commands, footprints: Footprints, config: HardwareConfig
) -> Commands:
    """The commands without dead loads, of which every element is overwritten or never read.

    Such loads come from virtual threads without work in a loop's last iteration.

    Parameters
    ----------
    footprints
        The footprints of the commands' prototypes.
    """
    is_load = (isinstance(p, Copy) and p.memory not in _NO_DATA for p in commands.prototypes)
    loads = np.fromiter(is_load, np.bool_, len(commands.prototypes))
    at = footprints
    used = used_loads(commands.which, loads, at.first, at.runs, at.keeps, chip_elements(config))
    return commands if used.all() else commands.take(np.flatnonzero(used))


def late_resets(commands: Commands, footprints: Footprints) -> Commands:
    """The commands with each reset just before the first use of the same accumulators.

    A reset waits until the accumulators' last results are stored; until then other virtual threads
    can compute.
    """
    is_reset = (isinstance(each, Compute) and each.reset for each in commands.prototypes)
    resets = np.fromiter(is_reset, np.bool_, len(commands.prototypes))
    if not resets.any():
        return commands
    return commands.take(late_order(commands.which, resets, footprints.first, footprints.runs))

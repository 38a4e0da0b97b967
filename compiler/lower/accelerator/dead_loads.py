"""Dead loads are dropped, and resets of accumulators delayed until the first use."""

from __future__ import annotations

import numpy as np

from compiler.lower.accelerator.commands import Commands, Compute, Copy
from compiler.lower.accelerator.footprints import Footprints, chip_elements
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["drop_unused_loads", "late_resets"]

_NO_DATA = (MemoryId.UOP, MemoryId.OUT)


def drop_unused_loads(
    commands: Commands, footprints: Footprints, config: HardwareConfig
) -> Commands:
    """The commands without dead loads, of which every element is overwritten or never read.

    A virtual thread without work in the last iteration of a loop makes such loads.

    Parameters
    ----------
    footprints
        Of the commands' prototypes.
    """
    from compiler.lower.accelerator.compiled import used_loads  # Numba takes long to import

    kinds = (isinstance(p, Copy) and p.memory not in _NO_DATA for p in commands.prototypes)
    loads = np.fromiter(kinds, np.bool_, len(commands.prototypes))
    at = footprints
    stays = used_loads(commands.which, loads, at.first, at.runs, at.keeps, chip_elements(config))
    return commands if stays.all() else commands.take(np.flatnonzero(stays))


def late_resets(commands: Commands, footprints: Footprints) -> Commands:
    """The commands with each reset just before the first one that accesses the same accumulators.

    A reset waits until the accumulators' last results are stored; until then other virtual threads
    can compute.
    """
    from compiler.lower.accelerator.compiled import late_order  # Numba takes long to import

    kinds = (isinstance(each, Compute) and each.reset for each in commands.prototypes)
    resets = np.fromiter(kinds, np.bool_, len(commands.prototypes))
    if not resets.any():
        return commands
    return commands.take(late_order(commands.which, resets, footprints.first, footprints.runs))

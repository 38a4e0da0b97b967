"""The check that nothing but a STORE reads requantised results."""

from __future__ import annotations

import numpy as np

from compiler.errors import LoweringError
from compiler.machines.accelerator.lower.commands import Command, Commands, Compute, Copy
from compiler.machines.accelerator.lower.compiled import requantised_read
from compiler.machines.accelerator.lower.footprints import Footprints, first_element
from hw.config import HardwareConfig
from hw.topology import MemoryId

_LOADS = (MemoryId.ACC, MemoryId.ACC_8BIT)


def check_requantised_reads(
    commands: Commands, footprints: Footprints, config: HardwareConfig
) -> None:
    """Raises `LoweringError` if a command computes with requantised results: these are in OUT only,
    and ACC has the sums that they were made of.

    Parameters
    ----------
    footprints
        The footprints of the commands' prototypes.
    """
    if not any(isinstance(each, Compute) and each.mode for each in commands.prototypes):
        return
    begin = first_element(MemoryId.ACC, config)
    reader, maker, count = requantised_read(
        commands.which,
        np.array([_writes(each) for each in commands.prototypes], np.bool_),
        np.array([_requantises(each) for each in commands.prototypes], np.bool_),
        footprints.first,
        footprints.runs,
        footprints.keeps,
        begin,
        begin + config.depth(MemoryId.ACC),
    )
    if count:
        raise LoweringError(
            f"{commands.sites[reader][0]} computes with {count} results of "
            f"{commands.sites[maker][0]}, which are requantised on their way to OUT: only a STORE "
            f"can read them"
        )


def _writes(command: Command) -> bool:
    """Whether a command gives accumulators new values."""
    return isinstance(command, Compute) or (isinstance(command, Copy) and command.memory in _LOADS)


def _requantises(command: Command) -> bool:
    return isinstance(command, Compute) and command.mode is not None

"""Elimination of loads of what a memory holds already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import ZEROS, Commands, Copy
from tandem.compiler.machines.accelerator.lower.compiled import fresh_loads
from tandem.compiler.machines.accelerator.lower.footprints import chip_elements
from tandem.compiler.te.tree import allocated
from tandem.hw.topology import MemoryId

_KEPT = (MemoryId.INP, MemoryId.WGT)


@dataclass(frozen=True, slots=True)
class DropRepeatedLoads:
    """Drops LOADs of data that lie in the same place already, since an earlier LOAD.

    A buffer whose lifetimes take as many slots as there are different boxes of data is thus loaded
    once. Tensors that the program itself stores are loaded again, and so are zeros.
    """

    name: str = "drop-repeated-loads"

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        """The commands that are left, in their order."""
        again: set[str | None] = {ZEROS}
        again |= {
            command.tensor
            for command in commands.prototypes
            if isinstance(command, Copy) and command.memory is MemoryId.OUT
        }
        is_load = (
            isinstance(command, Copy) and command.memory in _KEPT and command.tensor not in again
            for command in commands.prototypes
        )
        loads = np.fromiter(is_load, np.bool_, len(commands.prototypes))
        at, size = context.footprints(commands), chip_elements(context.config)
        fresh = fresh_loads(commands.which, commands.dram, loads, at.first, at.runs, size)
        return commands if fresh.all() else commands.take(np.flatnonzero(fresh))


def takes_slots(function: PrimFunc) -> bool:
    """Whether a buffer of a program has several slots."""
    return any(buffer.slots > 1 for buffer in allocated(function.body).values())

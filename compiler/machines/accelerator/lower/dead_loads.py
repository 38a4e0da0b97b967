"""Elimination of dead loads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import Commands, Copy
from tandem.compiler.machines.accelerator.lower.compiled import used_loads
from tandem.compiler.machines.accelerator.lower.footprints import chip_elements
from tandem.hw.topology import MemoryId

_NO_DATA = (MemoryId.UOP, MemoryId.OUT)


@dataclass(frozen=True, slots=True)
class DropUnusedLoads:
    """Drops dead loads, of which every element is overwritten or never read.

    Such loads come from virtual threads without work in a loop's last iteration.
    """

    name: str = "drop-unused-loads"

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        """The commands that are left, in their order."""
        is_load = (isinstance(p, Copy) and p.memory not in _NO_DATA for p in commands.prototypes)
        loads = np.fromiter(is_load, np.bool_, len(commands.prototypes))
        at, size = context.footprints(commands), chip_elements(context.config)
        used = used_loads(commands.which, loads, at.first, at.runs, at.keeps, size)
        return commands if used.all() else commands.take(np.flatnonzero(used))

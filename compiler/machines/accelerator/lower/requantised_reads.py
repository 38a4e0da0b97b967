"""The check that nothing but a STORE reads requantised results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import Command, Commands, Compute, Copy
from tandem.compiler.machines.accelerator.lower.compiled import requantised_read
from tandem.compiler.machines.accelerator.lower.footprints import first_element
from tandem.hw.topology import MemoryId

_LOADS = (MemoryId.ACC, MemoryId.ACC_8BIT)


@dataclass(frozen=True, slots=True)
class CheckRequantisedReads:
    """Refuses a command that computes with requantised results: these are in OUT only, and ACC has
    the sums that they were made of."""

    name: str = "check-requantised-reads"

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        """The same commands. Raises `LoweringError` if they compute with requantised results."""
        if not any(isinstance(each, Compute) and each.mode for each in commands.prototypes):
            return commands
        begin, at = first_element(MemoryId.ACC, context.config), context.footprints(commands)
        reader, maker, count = requantised_read(
            commands.which,
            np.array([_writes(each) for each in commands.prototypes], np.bool_),
            np.array([_requantises(each) for each in commands.prototypes], np.bool_),
            at.first,
            at.runs,
            at.keeps,
            begin,
            begin + context.config.depth(MemoryId.ACC),
        )
        if count:
            raise LoweringError(
                f"{commands.sites[reader][0]} computes with {count} results of "
                f"{commands.sites[maker][0]}, which are requantised on their way to OUT: only a "
                f"STORE can read them"
            )
        return commands


def _writes(command: Command) -> bool:
    """Whether a command gives accumulators new values."""
    return isinstance(command, Compute) or (isinstance(command, Copy) and command.memory in _LOADS)


def _requantises(command: Command) -> bool:
    return isinstance(command, Compute) and command.mode is not None

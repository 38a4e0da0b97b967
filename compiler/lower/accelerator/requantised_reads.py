"""The check that nothing but a STORE reads requantised results."""

from __future__ import annotations

import numpy as np

from compiler.errors import LoweringError
from compiler.lower.accelerator.commands import Commands, Compute, Copy, Ints
from hw.config import HardwareConfig
from hw.topology import MemoryId

_LOADS = (MemoryId.ACC, MemoryId.ACC_8BIT)


def check_requantised_reads(commands: Commands, config: HardwareConfig) -> None:
    """Raises `LoweringError` if a command computes with requantised results: these are in OUT only,
    and ACC has the sums that they were made of."""
    if not any(isinstance(each, Compute) and each.mode for each in commands.prototypes):
        return
    reads = [_read(each) if isinstance(each, Compute) else None for each in commands.prototypes]
    made_at = np.full(config.depth(MemoryId.ACC), -1, np.int64)
    """For each accumulator whose element of OUT is requantised, the position of the pass."""
    for position, number in enumerate(commands.which.tolist()):
        command, read = commands.prototypes[number], reads[number]
        if isinstance(command, Copy) and command.memory in _LOADS:
            made_at[command.sram : command.sram + command.size] = -1
        if isinstance(command, Compute) and read is not None:
            wrong = made_at[read] >= 0
            if wrong.any():
                stage, _ = commands.sites[position]
                maker, _ = commands.sites[int(made_at[read][wrong][0])]
                raise LoweringError(
                    f"{stage} computes with {int(wrong.sum())} results of {maker}, which are "
                    f"requantised on their way to OUT: only a STORE can read them"
                )
            made_at[command.indices("dst")] = position if command.mode else -1


def _read(command: Compute) -> Ints:
    """The accumulators that a command computes with."""
    found = [command.indices("dst")] if command.keeps else []
    if command.reads_src and command.source is MemoryId.ACC:
        found.append(command.indices("src"))
    return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))

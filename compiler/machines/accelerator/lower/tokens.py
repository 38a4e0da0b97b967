"""Dependence tokens, from the elements and bytes that commands access on chip and in DRAM.

For each ordered pair of neighbouring units, producer and consumer: a consumer's command depends on
the last command of the producer that conflicts with it. Unless earlier tokens imply this
dependence, the producer's command pushes a token and the consumer's pops it. Queues are in order
and dependences only advance, so the k-th pop meets the k-th push, one pop covers all earlier
commands, and every edge points forward: no such stream can deadlock.

Load and store are not neighbours. Their dependences on each other, through DRAM, are relayed by an
instruction of compute between the two commands: an existing one where possible, else an empty one.

Last, compute waits for the last STORE, so that FINISH comes after every STORE (`await_stores`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.compiler.machines.accelerator.lower.commands import (
    Commands,
    Copy,
    Ints,
    unit_of_command,
)
from tandem.compiler.machines.accelerator.lower.compiled_tokens import place
from tandem.compiler.machines.accelerator.lower.footprints import Footprints, chip_elements
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId, Unit

NO_COMMAND = -1
"""The command position of an instruction that only pops and pushes tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenedCommands:
    """The order of a stream's commands, with their tokens.

    Attributes
    ----------
    command
        For each instruction the position of its command, or `NO_COMMAND`.
    unit
        The unit that executes the instruction.
    tokens
        [instruction, 2]: bit sets of the units to pop a token from and to push a token to.
    """

    command: Ints
    unit: Ints
    tokens: Ints

    def __len__(self) -> int:
        return len(self.command)

    def pops(self, position: int) -> set[Unit]:
        """The units that an instruction pops a token from."""
        return {each for each in Unit if self.tokens[position, 0] >> each & 1}

    def pushes(self, position: int) -> set[Unit]:
        """The units that an instruction pushes a token to."""
        return {each for each in Unit if self.tokens[position, 1] >> each & 1}


def place_tokens(
    commands: Commands, footprints: Footprints, config: HardwareConfig, dram_bytes: int
) -> TokenedCommands:
    """The commands in order, with tokens, and empty instructions that relay load-store tokens.

    Parameters
    ----------
    footprints
        The footprints of the commands' prototypes.
    dram_bytes
        The size of the memory that commands access, from address 0.
    """
    table = np.zeros((len(commands.prototypes), 7), np.int64)
    for row, command in zip(table, commands.prototypes, strict=True):
        row[0] = unit_of_command(command)
        if isinstance(command, Copy):
            size = config.element_bytes(command.memory, command.coding)
            unit = config.dram_unit(command.memory)
            row[1:] = command.dram, command.rows, command.stride, unit, command.columns, size
    units, begin, count, stride, step, columns, sizes = np.ascontiguousarray(
        table[commands.which].T
    )
    strides, lengths = stride * step, columns * sizes
    # Contiguous rows are one row.
    contiguous = (count > 1) & (strides == lengths)
    lengths, count = np.where(contiguous, count * lengths, lengths), np.where(contiguous, 1, count)
    access = np.stack([(begin + commands.dram) * step, count, strides, lengths], 1)
    # Accesses are tracked in granules of a few bytes.
    granule = min(config.element_bytes(each) for each in (MemoryId.INP, MemoryId.OUT))
    granules, elements = -(-dram_bytes // granule), chip_elements(config)
    at = footprints
    return TokenedCommands(
        *place(commands.which, units, access, at.first, at.runs, elements, granules, granule)
    )


def await_stores(slots: TokenedCommands) -> TokenedCommands:
    """The stream, and at its end an empty instruction of compute that waits for the last STORE.

    FINISH, which compute executes next, thus follows every STORE. Tandem's machine ends when all
    units are idle and does not need that; VTA's ends with FINISH. Nothing is added to a stream
    without a STORE, or where compute waits for the last STORE already.
    """
    stores = np.flatnonzero(slots.unit == Unit.STORE)
    if not len(stores) or slots.tokens[stores[-1], 1] >> Unit.COMPUTE & 1:
        return slots
    tokens = np.append(slots.tokens, [[1 << Unit.STORE, 0]], axis=0)
    tokens[stores[-1], 1] |= 1 << Unit.COMPUTE
    return TokenedCommands(
        np.append(slots.command, NO_COMMAND), np.append(slots.unit, Unit.COMPUTE), tokens
    )

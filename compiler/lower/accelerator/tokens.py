"""Dependence tokens, from what commands touch on chip and in DRAM.

For each ordered pair of neighbouring modules, producer and consumer: what a command needs is the
last command of the producer that it depends on. It pops a token only where no token so far, by
whatever way, makes sure that this one is complete, and then that command pushes one. Queues are in
order and needs only grow, so the k-th pop meets the k-th push, one pop covers all that came before,
and every edge points forward: no such stream can deadlock.

Load and store are not neighbours. What they need of each other, through DRAM, compute passes on: a
command of it between them that waits for the one anyway and is waited for by the other, or an empty
one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.lower.accelerator.commands import Commands, Copy, Ints, module_of
from compiler.lower.accelerator.footprints import Footprints, chip_elements
from hw.config import HardwareConfig
from hw.topology import MemoryId, Module

__all__ = ["NOBODY", "Slots", "place_tokens"]

NOBODY = -1
"""No command: an empty one, which only takes and gives tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The places of a stream.

    Attributes
    ----------
    command
        The position of its command, or `NOBODY`.
    module
        Who executes it.
    tokens
        [place, 2]: whom it takes one from and whom it gives one to, a bit for each module.
    """

    command: Ints
    module: Ints
    tokens: Ints

    def __len__(self) -> int:
        return len(self.command)

    def pops(self, place: int) -> set[Module]:
        """From whom it takes a token."""
        return {each for each in Module if self.tokens[place, 0] >> each & 1}

    def pushes(self, place: int) -> set[Module]:
        """To whom it gives a token."""
        return {each for each in Module if self.tokens[place, 1] >> each & 1}


def place_tokens(
    commands: Commands, footprints: Footprints, config: HardwareConfig, dram_bytes: int
) -> Slots:
    """The commands in their order, with tokens, and empty ones where load and store meet.

    Parameters
    ----------
    footprints
        Of the commands' prototypes.
    dram_bytes
        Memory that commands speak of, from address 0.
    """
    from compiler.lower.accelerator.compiled import place  # Numba takes long to import

    table = np.zeros((len(commands.prototypes), 6), np.int64)
    for row, each in zip(table, commands.prototypes, strict=True):
        row[0] = module_of(each)
        if isinstance(each, Copy):
            size = config.element_bytes(each.memory)
            row[1:] = each.dram, each.rows, each.stride, each.columns, size
    modules, begin, count, stride, columns, sizes = np.ascontiguousarray(table[commands.which].T)
    # What lies in one piece is one row.
    whole = (count > 1) & (stride == columns)
    columns, count = np.where(whole, count * columns, columns), np.where(whole, 1, count)
    access = np.stack([(begin + commands.dram) * sizes, count, stride * sizes, columns * sizes], 1)
    # In steps of a few bytes, those that are touched in part as well.
    grain = min(config.element_bytes(each) for each in (MemoryId.INP, MemoryId.OUT))
    steps, elements = -(-dram_bytes // grain), chip_elements(config)
    at = footprints
    return Slots(*place(commands.which, modules, access, at.first, at.runs, elements, steps, grain))

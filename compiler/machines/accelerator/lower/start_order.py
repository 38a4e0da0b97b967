"""The order of compute's first commands: what needs no data comes first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Commands,
    Compute,
    Copy,
    unit_of_command,
)
from tandem.compiler.machines.accelerator.lower.footprints import chip_elements
from tandem.hw.topology import MemoryId, Unit


@dataclass(frozen=True, slots=True)
class StartEarly:
    """Puts the commands up to the first STORE in another order: resets of accumulators that nothing
    has used come before the first products, and LOADs into ACC just before their first use.

    Compute has to wait for the first operands anyway; it resets in the meantime, and leaves the bus
    to them.
    """

    name: str = "start-early"

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        """The commands in their new order."""
        footprints = context.footprints(commands)
        kinds = [_kind(each) for each in commands.prototypes]
        rows = commands.which.tolist()
        end = next((at for at, row in enumerate(rows) if kinds[row] is Unit.STORE), len(rows))
        first = next((at for at, row in enumerate(rows[:end]) if kinds[row] is _PRODUCTS), end)
        touched = np.zeros(chip_elements(context.config), np.bool_)
        early, pending, order = list[int](), list[int](), list[int]()

        def elements(row: int) -> list[tuple[int, int]]:
            begin, past = footprints.first[row], footprints.first[row + 1]
            return [(low, high) for low, high, _ in footprints.runs[begin:past].tolist()]

        def used(row: int) -> bool:
            return any(touched[low:high].any() for low, high in elements(row))

        for at in range(end):
            row = rows[at]
            if at < first and kinds[row] is _OPERANDS and not used(row):
                pending.append(at)
            elif kinds[row] is _RESET and at > first and not used(row):
                early.append(at)
            else:
                needed = [one for one in pending if _overlap(elements(rows[one]), elements(row))]
                pending = [one for one in pending if one not in needed]
                order += [*needed, at]
            for low, high in elements(row):
                touched[low:high] = True
        place = order.index(first) if first < end else len(order)
        order = [*order[:place], *early, *order[place:], *pending, *range(end, len(rows))]
        return commands.take(np.array(order, np.int64))


_PRODUCTS, _RESET, _OPERANDS = "products", "reset", "operands"


def _kind(command: Command) -> Unit | str | None:
    if isinstance(command, Compute):
        if command.reset:
            return _RESET
        return _PRODUCTS if command.op is None else None
    if isinstance(command, Copy) and command.memory in (MemoryId.ACC, MemoryId.ACC_8BIT):
        return _OPERANDS
    return Unit.STORE if unit_of_command(command) is Unit.STORE else None


def _overlap(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    return any(low < past and begin < high for low, high in some for begin, past in others)

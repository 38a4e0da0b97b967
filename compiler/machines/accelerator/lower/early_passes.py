"""Passes directly behind their sums, before other virtual threads' or tiles' instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Commands,
    Compute,
    Copy,
    unit_of_command,
)
from tandem.compiler.machines.accelerator.lower.footprints import Footprints
from tandem.hw.topology import Unit


@dataclass(frozen=True, slots=True)
class EarlyPasses:
    """Moves each requantising pass, and every iteration of an eager loop but resets, to just behind
    the last command that it has to follow.

    Its results are then stored while other threads compute, and its accumulators are free sooner.
    LOADs of its operands come with it; a pass stays where it is if they cannot, as the load unit's
    order has to stay as well.

    Attributes
    ----------
    eager
        The names of the eager loops.
    """

    eager: frozenset[str] = frozenset()
    name: str = "early-passes"

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        """The commands in their new order."""
        conflicts, order = _Conflicts.of(commands, context.footprints(commands)), list[int]()
        for position, moves in enumerate(self._moves(commands)):
            behind = _behind(order, position, conflicts) if moves else None
            if behind is None:
                order.append(position)
                continue
            at, loads = behind
            rest = [each for each in order[at:] if each not in loads]
            order[at:] = [*loads, position, *rest]
        return commands.take(np.array(order, np.int64))

    def _moves(self, commands: Commands) -> list[bool]:
        """Whether each command is to move up."""
        moves = np.array([_is_pass(each) for each in commands.prototypes], np.bool_)[commands.which]
        if self.eager:
            resets = [isinstance(each, Compute) and each.reset for each in commands.prototypes]
            marked = [any(name in self.eager for name, _ in around) for _, around in commands.sites]
            moves |= np.array(marked, np.bool_) & ~np.array(resets, np.bool_)[commands.which]
        return moves.tolist()


def _is_pass(command: Command) -> bool:
    """Whether a command requantises, and is not the one that makes the sums."""
    return isinstance(command, Compute) and command.mode is not None and command.op is not None


def _behind(
    order: Sequence[int], position: int, conflicts: _Conflicts
) -> tuple[int, Sequence[int]] | None:
    """The place in `order` behind the last command that a pass has to follow, and LOADs to go with
    it; None if it cannot move there."""
    at, needed = len(order), False
    loads = list[int]()
    while at:
        other = order[at - 1]
        if conflicts.unit(other) is Unit.LOAD:
            needed = needed or conflicts.between(other, position)
            loads = [other, *loads] if needed else loads
        elif conflicts.between(other, position):
            break
        elif any(conflicts.between(other, each) for each in loads):
            return None
        at -= 1
    return at, loads


@dataclass(slots=True)
class _Conflicts:
    """Whether commands, by position, have to keep their order.

    Attributes
    ----------
    which
        For each command the index of its prototype.
    units
        The unit that executes each prototype.
    """

    commands: Commands
    footprints: Footprints
    which: list[int]
    units: list[Unit]
    _known: dict[tuple[int, int], bool] = field(default_factory=dict)

    @staticmethod
    def of(commands: Commands, footprints: Footprints) -> _Conflicts:
        """Of commands with these footprints."""
        units = [unit_of_command(each) for each in commands.prototypes]
        return _Conflicts(commands, footprints, commands.which.tolist(), units)

    def unit(self, position: int) -> Unit:
        """The unit that executes a command."""
        return self.units[self.which[position]]

    def between(self, one: int, other: int) -> bool:
        """Whether two commands access an element in common on chip, and one writes it; or a tensor
        in DRAM."""
        key = self.which[one], self.which[other]
        if key not in self._known:
            self._known[key] = self._in_dram(*key) or self._on_chip(*key)
        return self._known[key]

    def _in_dram(self, one: int, other: int) -> bool:
        first, second = (self.commands.prototypes[each] for each in (one, other))
        return (
            isinstance(first, Copy)
            and isinstance(second, Copy)
            and first.tensor == second.tensor
            and self.units[one] is not self.units[other]
        )

    def _on_chip(self, one: int, other: int) -> bool:
        first, runs = self.footprints.first, self.footprints.runs
        a, b = (runs[first[each] : first[each + 1], None] for each in (one, other))
        b = b.transpose(1, 0, 2)
        overlap = (a[..., 0] < b[..., 1]) & (b[..., 0] < a[..., 1])
        return bool((overlap & ((a[..., 2] | b[..., 2]) == 1)).any())

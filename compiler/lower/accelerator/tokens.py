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

from bisect import bisect_left
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import TypeAlias

from compiler.lower.accelerator.commands import module_of
from compiler.lower.accelerator.footprints import Footprints
from compiler.lower.accelerator.last_accesses import NOBODY, LastAccesses
from compiler.lower.accelerator.residency import Resident
from hw.memories import Module

__all__ = ["Slot", "place_tokens"]

_Clock: TypeAlias = tuple[int, int, int]
"""For each module the last command that is certainly complete; all before it are too."""

_NOTHING: _Clock = (NOBODY, NOBODY, NOBODY)

_OTHERS = {each: tuple(other for other in Module if other is not each) for each in Module}


@dataclass(slots=True)
class Slot:
    """A command in its place of the stream, and the tokens that it takes and gives.

    None: an empty command, which only takes and gives tokens.
    """

    what: Resident | None
    module: Module
    pops: Set[Module] = frozenset()
    """From whom it takes one."""
    pushes: Set[Module] = frozenset()
    """To whom it gives one."""


def place_tokens(
    residents: Iterable[Resident], footprints: Footprints, dram_bytes: int
) -> list[Slot]:
    """The commands in their order, with tokens, and empty ones where load and store meet.

    Parameters
    ----------
    dram_bytes
        Memory that commands speak of, from address 0.
    """
    return _Placer(footprints, dram_bytes).place(residents)


class _Placer:
    def __init__(self, footprints: Footprints, dram_bytes: int) -> None:
        self._accesses = LastAccesses(footprints, dram_bytes)
        self._slots: list[Slot] = []
        self._computes: list[int] = []
        """Positions of compute's commands."""
        self._clocks: list[_Clock] = []
        """For each command, what is complete when it starts."""
        self._last: dict[Module, int] = {}
        self._passed: dict[Module, list[tuple[int, int]]] = {Module.LOAD: [], Module.STORE: []}
        """For each neighbour of compute: what compute has waited for, and since which command."""

    def place(self, residents: Iterable[Resident]) -> list[Slot]:
        for resident in residents:
            command = resident.command
            module = module_of(command)
            touched = self._accesses.touched(command)
            needs = {each: self._accesses.needed(touched, each) for each in _OTHERS[module]}
            if module is not Module.COMPUTE:
                far = Module.STORE if module is Module.LOAD else Module.LOAD
                needed, least = needs.pop(far), needs[Module.COMPUTE]
                if needed > self._after(self._clock_of(module), least)[far]:
                    needs[Module.COMPUTE] = max(least, self._relay(far, needed, least))
            position = self._add(resident, module, needs)
            self._accesses.add(touched, module, position)
        return self._slots

    def _relay(self, far: Module, needed: int, least: int) -> int:
        """A command of compute that starts after the command `needed` of load, or of store.

        The best is one that has to be waited for anyway, `least`, or the next: it then pops a token
        of `far` too. That is possible where compute has popped none since.
        """
        passed = self._passed[far]
        at = bisect_left(passed, (needed, NOBODY))
        if at < len(passed):
            return passed[at][1]
        since = passed[-1][1] if passed else NOBODY
        free = bisect_left(self._computes, max(least, needed + 1, since + 1))
        if least == NOBODY or free == len(self._computes):
            return self._add(None, Module.COMPUTE, {far: needed})
        position = self._computes[free]
        self._pop(position, far, needed)
        for later in self._computes[free + 1 :]:
            self._clocks[later] = self._after(self._clocks[later], needed)
        return position

    def _pop(self, position: int, other: Module, needed: int) -> None:
        """Let a command wait for another one, of a neighbour, if it does not do so already."""
        slot, clock = self._slots[position], self._clocks[position]
        if needed <= clock[other]:
            return
        self._clocks[position] = self._after(clock, needed)
        slot.pops |= {other}
        self._slots[needed].pushes |= {slot.module}
        if slot.module is Module.COMPUTE:
            self._passed[other].append((needed, position))

    def _add(self, what: Resident | None, module: Module, needs: dict[Module, int]) -> int:
        position = len(self._slots)
        self._slots.append(Slot(what, module))
        self._clocks.append(self._clock_of(module))
        if module is Module.COMPUTE:
            self._computes.append(position)
        self._last[module] = position
        # The latest first: what it has waited for need not be waited for again.
        for other, needed in sorted(needs.items(), key=lambda each: -each[1]):
            self._pop(position, other, needed)
        return position

    def _clock_of(self, module: Module) -> _Clock:
        """What the next command of a module knows to be complete without any token."""
        last = self._last.get(module)
        return _NOTHING if last is None else self._clocks[last]

    def _after(self, clock: _Clock, position: int) -> _Clock:
        """What is known to be complete besides, when a command of another module is."""
        if position == NOBODY:
            return clock
        other, module = self._clocks[position], self._slots[position].module
        known = [a if a > b else b for a, b in zip(clock, other, strict=True)]
        if known[module] < position:
            known[module] = position
        return known[0], known[1], known[2]

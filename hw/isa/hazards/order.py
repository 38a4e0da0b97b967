"""Happens-before: which instructions are complete when another starts, whatever the timing.

Two things order instructions. Each module starts its own in program order and completes them in
that order (ARCHITECTURE.md, timing rules 4 to 8), and the k-th pop of a token queue waits for the
k-th push, which is given at its instruction's end. A module may start an instruction before the one
in front of it has ended (GEMM after GEMM, STORE after STORE); between modules that changes nothing:
a chain of tokens enters a module at the start of one instruction and leaves it at the end of the
same or a later one, and starts are in order, and ends are. So an instruction x of one module is
complete when y of another starts exactly if a chain leads from x to y; and, per module, those that
are complete are a prefix. Three counts say all: y's *clock*.

Dispatch is no order: which instruction is fetched, or finds room in its queue, first does not say
which ends first.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hw.isa.columns import Columns, Ints
from hw.isa.tokens import POPS, PUSHES
from hw.memories import Module, TokenQueue

__all__ = ["Clock", "Order", "order_of"]

Clock = tuple[int, int, int]
"""By module, how many of its instructions are complete for certain."""


@dataclass(frozen=True, slots=True)
class Order:
    """The order that tokens make.

    Attributes
    ----------
    sequence
        Indices of the instructions in an order in which they can run one by one: of those that
        could start, always the earliest in the program. What can never start is missing.
    positions
        By module, its instructions' indices in the program.
    places
        By instruction, how many of its module come before it.
    clocks
        By instruction, what is complete when it starts. All zero where it never starts. Of the
        instruction's own module, all that come before it count, though they may still run.
    """

    sequence: list[int]
    positions: tuple[list[int], ...]
    places: list[int]
    clocks: list[Clock]


def order_of(columns: Columns, modules: npt.NDArray[np.int8]) -> Order:
    """The order of a program of legal instructions; `modules` tells who executes each."""
    positions, queues = [], []
    places = np.zeros(len(modules), dtype=np.int64)
    for module in Module:
        own = np.flatnonzero(modules == module)
        places[own] = np.arange(len(own))
        positions.append(own.tolist())
        queues.append(_queues(columns, module, own))
    walk = _Walk(tuple(positions), queues, len(modules))
    walk.run()
    return Order(walk.sequence, walk.positions, places.tolist(), walk.clocks)


_Flags = list[tuple[tuple[TokenQueue, ...], tuple[TokenQueue, ...]]]
"""For each instruction of a module the queues that it pops, and those that it pushes."""


def _queues(columns: Columns, module: Module, own: Ints) -> _Flags:
    pops = zip(columns.pop_prev[own].tolist(), columns.pop_next[own].tolist(), strict=True)
    pushes = zip(columns.push_prev[own].tolist(), columns.push_next[own].tolist(), strict=True)
    popped, pushed = _table(POPS[module]), _table(PUSHES[module])
    return [(popped[pop], pushed[push]) for pop, push in zip(pops, pushes, strict=True)]


def _table(
    ends: tuple[TokenQueue | None, TokenQueue | None],
) -> dict[tuple[int, int], tuple[TokenQueue, ...]]:
    """The queues that two flags name."""
    return {
        (prev, following): tuple(
            queue
            for flag, queue in zip((prev, following), ends, strict=True)
            if flag and queue is not None
        )
        for prev in (0, 1)
        for following in (0, 1)
    }


class _Walk:
    """Runs the instructions one by one, each with its clock."""

    def __init__(self, positions: tuple[list[int], ...], queues: list[_Flags], length: int) -> None:
        self.positions = positions
        self.queues = queues
        self.sequence: list[int] = []
        self.clocks: list[Clock] = [(0, 0, 0)] * length
        self._next = [0, 0, 0]
        self._clocks: list[Clock] = [(0, 0, 0)] * len(Module)
        """By module, the clock of the instruction that it started last."""
        self._tokens: list[deque[Clock]] = [deque() for _ in TokenQueue]
        """What is complete when a token is there; a token each."""

    def run(self) -> None:
        """Go on until nothing can start."""
        heads = [
            (own[0], module) for module, own in zip(Module, self.positions, strict=True) if own
        ]
        while heads:
            heads.sort()
            ready = (at for at, (_, module) in enumerate(heads) if self._can_start(module))
            at = next(ready, None)
            if at is None:
                return
            _, module = heads.pop(at)
            self._start(module)
            own, place = self.positions[module], self._next[module]
            if place < len(own):
                heads.append((own[place], module))

    def _can_start(self, module: Module) -> bool:
        """Whether a module's next instruction can start; there must be one."""
        pops, _ = self.queues[module][self._next[module]]
        return all(self._tokens[queue] for queue in pops)

    def _start(self, module: Module) -> None:
        place = self._next[module]
        pops, pushes = self.queues[module][place]
        load, compute, store = self._clocks[module]
        for queue in pops:
            other = self._tokens[queue].popleft()
            load, compute, store = (
                max(load, other[0]),
                max(compute, other[1]),
                max(store, other[2]),
            )
        position = self.positions[module][place]
        self.clocks[position] = self._clocks[module] = _with(load, compute, store, module, place)
        if pushes:
            end = _with(load, compute, store, module, place + 1)
            for queue in pushes:
                self._tokens[queue].append(end)
        self.sequence.append(position)
        self._next[module] = place + 1


def _with(load: int, compute: int, store: int, module: Module, count: int) -> Clock:
    """A clock in which `count` of `module` are complete."""
    if module is Module.LOAD:
        return count, compute, store
    if module is Module.COMPUTE:
        return load, count, store
    return load, compute, count

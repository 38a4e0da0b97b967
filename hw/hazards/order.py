"""Happens-before, as vector clocks: the instructions that are complete when another one starts.

Two things order instructions. Each module starts its own in program order and completes them in
that order (ARCHITECTURE.md, timing rules 4 to 8), and the k-th pop of a token queue waits for the
k-th push, which is given at its instruction's end. A module may start an instruction before the one
in front of it has ended (GEMM after GEMM, STORE after STORE); between modules that changes nothing:
a chain of tokens enters a module at the start of one instruction and leaves it at the end of the
same or a later one, and starts are in order, and ends are. So an instruction x of one module is
complete when y of another starts exactly if a chain leads from x to y; and, per module, the
instructions that are complete are a prefix. Three counts, one a module, are y's vector clock.

Dispatch is no order: the instruction that is fetched first, or finds space in its queue first, need
not end first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hw.isa.columns import Columns, Ints
from hw.jit import cached
from hw.topology import POPS, PUSHES, TokenQueue, Unit

__all__ = ["Order", "order_of"]


@dataclass(frozen=True, slots=True)
class Order:
    """The partial order that tokens impose.

    Attributes
    ----------
    sequence
        Indices of the instructions in an order in which they can run one by one: of those that
        can start, always the earliest in the program. Those that never start are missing.
    positions
        Indices of the instructions, those of LOAD first and those of STORE last.
    begins
        By module, the index in `positions` of its first instruction; and last the length.
    clocks
        By instruction and module, how many of the module's instructions are complete for certain
        when the instruction starts. All zero where it never starts. Of the instruction's own
        module, all that come before it count, though they may still run.
    """

    sequence: Ints
    positions: Ints
    begins: Ints
    clocks: Ints


def order_of(columns: Columns, modules: npt.NDArray[np.int8]) -> Order:
    """The order of a program of legal instructions; `modules` has the module of each."""
    owners = modules.astype(np.int64)
    counts = np.bincount(owners, minlength=len(Unit))
    begins = np.concatenate([[0], np.cumsum(counts)])
    positions = np.concatenate([np.flatnonzero(modules == module) for module in Unit])
    clocks = np.zeros((len(modules), len(Unit)), dtype=np.int64)
    pops = _queues(_POPPED, owners, columns.pop_prev, columns.pop_next)
    pushes = _queues(_PUSHED, owners, columns.push_prev, columns.push_next)
    sequence = run_tokens(positions, begins, pops, pushes, len(TokenQueue), clocks)
    return Order(sequence, positions, begins, clocks)


def _queues(named: Ints, owners: Ints, prev: Ints, following: Ints) -> Ints:
    """By instruction, the two queues that its flags name: -1 for a flag that is not set."""
    flags = np.stack([prev, following], axis=1)
    return np.where(flags != 0, named[owners], _NO_QUEUE)


_NO_QUEUE = -1
_POPPED, _PUSHED = (
    np.array([[_NO_QUEUE if queue is None else queue for queue in ends[end]] for end in Unit])
    for ends in (POPS, PUSHES)
)
"""By module, the queues that its flags name."""


@cached
def run_tokens(
    positions: Ints, begins: Ints, pops: Ints, pushes: Ints, queues: int, clocks: Ints
) -> Ints:
    """Run the instructions one by one until nothing can start; see `Order`.

    Fills in `clocks` and returns the sequence.
    """
    modules = len(begins) - 1
    sequence = np.empty(len(positions), dtype=np.int64)
    now = np.zeros((modules, modules), dtype=np.int64)  # the clock that each module started last
    tokens = np.empty((queues, len(positions), modules), dtype=np.int64)  # complete at each push
    pushed, popped = np.zeros(queues, dtype=np.int64), np.zeros(queues, dtype=np.int64)
    started = np.zeros(modules, dtype=np.int64)
    steps = 0
    while True:
        chosen, position = -1, len(positions)
        for module in range(modules):
            head = begins[module] + started[module]
            if head < begins[module + 1] and positions[head] < position:
                first, second = pops[positions[head], 0], pops[positions[head], 1]
                if (first < 0 or popped[first] < pushed[first]) and (
                    second < 0 or popped[second] < pushed[second]
                ):
                    chosen, position = module, positions[head]
        if chosen < 0:
            return sequence[:steps]
        # Element by element throughout: assignments of slices take seconds to compile.
        for side in range(2):
            queue = pops[position, side]
            if queue >= 0:
                for module in range(modules):
                    token = tokens[queue, popped[queue], module]
                    now[chosen, module] = max(now[chosen, module], token)
                popped[queue] += 1
        now[chosen, chosen] = started[chosen]
        started[chosen] += 1
        for module in range(modules):
            clocks[position, module] = now[chosen, module]
        for side in range(2):
            queue = pushes[position, side]
            if queue >= 0:
                for module in range(modules):
                    tokens[queue, pushed[queue], module] = now[chosen, module]
                tokens[queue, pushed[queue], chosen] = started[chosen]
                pushed[queue] += 1
        sequence[steps] = position
        steps += 1

"""Happens-before, as vector clocks: the instructions that are complete when another one starts.

Units and tokens order instructions. Each unit starts and completes its instructions in program
order (docs/timing.md, rules 4 to 8), and the k-th pop of a token queue waits for the k-th
push, which happens at the end of the pushing instruction. A unit may start an instruction before
its previous one has ended (GEMM after GEMM, STORE after STORE). That does not affect other units:
a chain of tokens enters a unit at the start of one instruction and leaves the unit at the end of
the same or a later one, and both starts and ends are in order. So an instruction x of one unit is
complete when y of another unit starts exactly if a chain leads from x to y; and a unit's complete
instructions are a prefix. Their numbers, one for each of three units, are y's vector clock.

Dispatch orders nothing: the instruction that is fetched first, or finds space in its queue first,
need not end first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled
from tandem.hw.isa.columns import Columns, Ints
from tandem.hw.topology import POPS, PUSHES, TokenQueue, Unit


@dataclass(frozen=True, slots=True)
class Order:
    """The partial order that tokens impose.

    Attributes
    ----------
    sequence
        Indices of the instructions in an order in which they can run one by one: the next is always
        the earliest that can start. Instructions that never start are missing.
    positions
        Indices of the instructions, grouped by unit: load, compute, store.
    begins
        By unit, the index in `positions` of its first instruction; and last the length.
    clocks
        By instruction and unit, how many of the unit's instructions are complete for certain
        when the instruction starts. All zero where it never starts. In the instruction's own
        unit, all earlier instructions count, though they may still run.
    """

    sequence: Ints
    positions: Ints
    begins: Ints
    clocks: Ints


def order_of(columns: Columns, units: npt.NDArray[np.int8]) -> Order:
    """The order of a program of legal instructions; `units` has the unit of each instruction."""
    owners = units.astype(np.int64)
    counts = np.bincount(owners, minlength=len(Unit))
    begins = np.concatenate([[0], np.cumsum(counts)])
    positions = np.concatenate([np.flatnonzero(units == unit) for unit in Unit])
    clocks = np.zeros((len(units), len(Unit)), dtype=np.int64)
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
"""By unit and flag (`prev`, `next`), the queue that the flag names, or -1."""


def run_tokens(
    positions: Ints, begins: Ints, pops: Ints, pushes: Ints, queues: int, clocks: Ints
) -> Ints:
    """Run the instructions one by one until nothing can start; see `Order`.

    Fills in `clocks` and returns the sequence.
    """
    units = len(begins) - 1
    sequence = np.empty(len(positions), dtype=np.int64)
    now = np.zeros((units, units), dtype=np.int64)
    tokens = np.empty((queues, len(positions), units), dtype=np.int64)
    pushed, popped = np.zeros((2, queues), dtype=np.int64)
    started = np.zeros(units, dtype=np.int64)
    steps = _run_tokens(
        positions, begins, pops, pushes, clocks, sequence, now, tokens, pushed, popped, started
    )
    return sequence[:steps]


@compiled
def _run_tokens(
    positions: Ints,
    begins: Ints,
    pops: Ints,
    pushes: Ints,
    clocks: Ints,
    sequence: Ints,
    now: Ints,
    tokens: Ints,
    pushed: Ints,
    popped: Ints,
    started: Ints,
) -> int:
    """The loop of `run_tokens`: fills in `clocks` and `sequence`; returns the sequence's length.

    Parameters
    ----------
    now
        [unit, unit]: the clock of the instruction that each unit started last.
    tokens
        [queue, number, unit]: the clock of each push.
    pushed, popped
        By queue, the pushes and pops until now.
    started
        By unit, the instructions that have started.
    """
    unit_count = len(begins) - 1
    steps = 0
    while True:
        chosen, position = -1, len(positions)
        for unit in range(unit_count):
            head = begins[unit] + started[unit]
            if head < begins[unit + 1] and positions[head] < position:
                first, second = pops[positions[head], 0], pops[positions[head], 1]
                if (first < 0 or popped[first] < pushed[first]) and (
                    second < 0 or popped[second] < pushed[second]
                ):
                    chosen, position = unit, positions[head]
        if chosen < 0:
            return steps
        for side in range(2):
            queue = pops[position, side]
            if queue >= 0:
                for unit in range(unit_count):
                    token = tokens[queue, popped[queue], unit]
                    now[chosen, unit] = max(now[chosen, unit], token)
                popped[queue] += 1
        now[chosen, chosen] = started[chosen]
        started[chosen] += 1
        for unit in range(unit_count):
            clocks[position, unit] = now[chosen, unit]
        for side in range(2):
            queue = pushes[position, side]
            if queue >= 0:
                for unit in range(unit_count):
                    tokens[queue, pushed[queue], unit] = now[chosen, unit]
                tokens[queue, pushed[queue], chosen] = started[chosen]
                pushed[queue] += 1
        sequence[steps] = position
        steps += 1

"""Fetch, check and the instruction queues: when instructions reach their units (rule 3)."""

from __future__ import annotations

from tandem.base.jit import inlined
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.timing import CHECK_STAGES
from tandem.sim.cycle.faults import OF_DISPATCH, report
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.reads import FETCH, GRANTED, Reads, use
from tandem.sim.cycle.state import (
    DISPATCH,
    DISPATCHED,
    FETCHED,
    FETCHES,
    HALF,
    MOVED,
    NEXT,
    START,
    WAKE,
    WAKE_FETCH,
    Run,
)

STAGES = CHECK_STAGES
INSTRUCTION_SHIFT = INSTRUCTION_BYTES.bit_length() - 1


@inlined
def fetch(machine: Machine, run: Run, reads: Reads) -> bool:
    """Move instructions whose beats have arrived into check; returns whether there was one."""
    state, times = run.state, run.times
    count, granted = len(run.units), reads.clients[FETCH, GRANTED]
    per_beat = max(1, (1 << machine.beat_shift) >> INSTRUCTION_SHIFT)
    beats = max(1, (1 << INSTRUCTION_SHIFT) >> machine.beat_shift)
    slot = (run.address >> INSTRUCTION_SHIFT) & (per_beat - 1)
    moved = False
    while state[FETCHES] < count:
        at = state[FETCHES]
        free = times[MOVED, at - 1] + 1 if at > 0 else 0
        while state[HALF] < beats - 1:
            beat = at * beats + state[HALF]
            if beat >= granted:
                return moved
            free = max(free, run.available[beat])
            if state[HALF] > 0:
                free = max(free, reads.used[FETCH, (beat - 1) & reads.used_mask] + 1)
            use(reads, FETCH, free)
            state[HALF] += 1
            moved = True
        beat = at * beats + beats - 1 if beats > 1 else (slot + at) // per_beat
        if beat >= granted or at >= state[DISPATCHED] + STAGES:
            return moved
        now = max(free, run.available[beat])
        if beats > 1:
            now = max(now, reads.used[FETCH, (beat - 1) & reads.used_mask] + 1)
        if at >= STAGES:
            now = max(now, times[DISPATCH, at - STAGES])
        times[MOVED, at] = now
        if beats > 1 or (slot + at) % per_beat == per_beat - 1 or at == count - 1:
            use(reads, FETCH, now)
        state[HALF] = 0
        state[FETCHES] = at + 1
        moved = True
    return moved


@inlined
def dispatch(machine: Machine, run: Run) -> None:
    """Dispatch the instructions in check whose queues have space."""
    state, times = run.state, run.times
    while state[DISPATCHED] < state[FETCHES]:
        at = state[DISPATCHED]
        fetched = times[MOVED, at] + STAGES
        if at > 0:
            fetched = max(fetched, times[DISPATCH, at - 1] + 1)
        if run.faults[at]:
            report(state, fetched, OF_DISPATCH, run.faults[at], at)
            return
        unit = run.units[at]
        behind = run.ordinal[at] - machine.queue_depth
        space = 0
        if behind >= 0:
            if behind >= state[NEXT + unit]:
                return
            space = times[START, run.stream[run.first[unit] + behind]] + 1
        times[FETCHED, at] = fetched
        times[DISPATCH, at] = max(fetched, space)
        state[DISPATCHED] = at + 1
        state[WAKE] |= 1 << unit | WAKE_FETCH

"""What ended a run, and when: its last instruction, or the first fault in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault, FaultSource
from tandem.hw.isa.tokens import wrong_end
from tandem.hw.timing import CHECK_STAGES, DEADLOCK_CYCLES
from tandem.hw.topology import MAX_TOKENS, TokenQueue, Unit
from tandem.sim.cycle.faults import report
from tandem.sim.cycle.prepare import Prepared
from tandem.sim.cycle.reads import LAST as LAST_BEAT
from tandem.sim.cycle.reads import Reads
from tandem.sim.cycle.state import (
    DISPATCH,
    DISPATCHED,
    ENDED,
    FAULT_AT,
    FAULT_CODE,
    FAULT_CYCLE,
    FETCHES,
    LAST,
    LONGEST_WAIT,
    MOVED,
    NEXT,
    PUSHED,
    START,
    Ints,
    Run,
)
from tandem.sim.errors import BusError
from tandem.sim.semantics.report import program_error

DONE_CYCLES = 3
"""Cycles of a run from its last end, or from its fault, on (rule 9)."""
_AT_RUN_TIME = (Fault.SRAM_INDEX, Fault.BUS_READ, Fault.BUS_WRITE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run: its cycles, and the fault with its instruction, or `Fault.NONE`."""

    cycles: int
    fault: Fault
    instruction: int | None


def outcome_of(program: Prepared, run: Run, reads: Reads) -> Outcome:
    """What ended a run."""
    state = run.state
    if program.most_pushes > MAX_TOKENS:
        _find_overflows(run)
    cycle = int(state[FAULT_CYCLE])
    if cycle != LONGEST_WAIT:
        fault, at = Fault(int(state[FAULT_CODE])), int(state[FAULT_AT])
        nowhere = at < 0 or fault is Fault.NO_FINISH
        return Outcome(cycle + DONE_CYCLES, fault, None if nowhere else at)
    if state[ENDED] < len(run.units):
        cycles = _last_change(run, reads) + 1 + DEADLOCK_CYCLES + DONE_CYCLES
        return Outcome(cycles, Fault.DEADLOCK, None)
    return Outcome(int(state[LAST]) + DONE_CYCLES, _tokens_left(run), None)


def _find_overflows(run: Run) -> None:
    """Report pushes to a full queue: it gets a token more than it holds, and gives none."""
    for queue in TokenQueue:
        pushes = run.pushes[queue, : run.state[PUSHED + queue]]
        if len(pushes) <= MAX_TOKENS:
            continue
        pops = run.times[START, _with_tokens(run, queue.consumer, queue, 0)]
        late = np.full(len(pushes) - MAX_TOKENS, LONGEST_WAIT, np.int64)
        count = min(len(pops), len(late))
        late[:count] = pops[:count]
        full = np.flatnonzero(late > pushes[MAX_TOKENS:])
        if len(full):
            number = MAX_TOKENS + int(full[0])
            at = int(_with_tokens(run, queue.producer, queue, 2)[number])
            source = int(FaultSource.of_queue(queue))
            report(run.state, int(pushes[number]), source, int(Fault.TOKEN_OVERFLOW), at)


def _with_tokens(run: Run, unit: Unit, queue: TokenQueue, side: int) -> Ints:
    """The instructions of a unit that have started and pop (side 0) or push (2) a queue's token."""
    begin = run.first[unit]
    own = run.stream[begin : begin + run.state[NEXT + unit]]
    return np.asarray(own[(run.queues[own, side : side + 2] == queue).any(axis=1)], np.int64)


def _tokens_left(run: Run) -> Fault:
    queues = len(TokenQueue)
    counts = [np.bincount(side.ravel(), minlength=queues) for side in np.split(run.queues, 2, 1)]
    return Fault.NONE if (counts[0] == counts[1])[:queues].all() else Fault.TOKENS_LEFT


def _last_change(run: Run, reads: Reads) -> int:
    """The last cycle in which something happens in a run that cannot go on."""
    state = run.state
    last = max(int(state[LAST]), int(reads.master[LAST_BEAT]))
    dispatched = state[DISPATCHED]
    if dispatched > 0:
        last = max(last, int(run.times[DISPATCH, dispatched - 1]))
    if state[FETCHES] > dispatched:
        # The head of the instructions that wait for space has arrived.
        last = max(last, int(run.times[MOVED, dispatched]) + CHECK_STAGES - 1)
    return last


def error_of(
    program: Prepared, run: Run, outcome: Outcome, failure: Exception | None, memory_bytes: int
) -> Exception:
    """The error for an outcome with a fault.

    `failure` is the functional engine's error, which says more where it means the same.
    """
    fault, at = outcome.fault, outcome.instruction
    match failure:
        case ProgramError() if (failure.fault, failure.instruction) == (fault, at):
            return failure
        case BusError() if failure.instruction == at and fault is (
            Fault.BUS_WRITE if failure.write else Fault.BUS_READ
        ):
            return failure
    if at is None and fault is Fault.BUS_READ:
        return BusError(
            None,
            write=False,
            message=f"fetch of the program: memory answers with an error [{fault.name}]",
        )
    if fault in (Fault.DEADLOCK, Fault.TOKENS_LEFT):
        error = wrong_end(program.config, program.columns)
        assert error is not None, "tokens move alike with and without time"
        return error
    detail = run.detail[0] if fault in _AT_RUN_TIME else None
    return program_error(program.config, program.columns, at or 0, fault, detail, memory_bytes)

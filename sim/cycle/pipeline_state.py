"""The state of the pipeline of GEMM and ALU, and how it repeats from iteration to iteration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.base.jit import inlined

Ints = npt.NDArray[np.int64]

STALLS = 3
"""Stalls that a micro-op can meet, from its issue to the stage of the stall."""

# The state. Of two micro-ops and of three stalls, the last one comes first.
ISSUED = 0
"""The cycle of the last issue."""
RESULT = 1
"""The accumulators that the last two micro-ops write."""
STAY = 3
"""Their stays."""
STALL = 5
"""The first cycles of the last three micro-ops' stalls."""
LENGTH = 8
"""The lengths of these stalls."""
STALLED = 11
"""Cycles of stalls."""
SAVED = 12
"""Two records of what decides about the micro-ops to come; see `repeats`."""
RECORD = 12
"""Length of a record. It has the results and stays of the last two micro-ops in the order of the
state, and behind them the fields below."""
STALL_IN_RECORD = STALL - RESULT
"""The first cycles of the last three stalls."""
LENGTH_IN_RECORD = LENGTH - RESULT
"""The lengths of these stalls."""
TIME_IN_RECORD = STALLED - RESULT
"""The time of the record."""
STALLED_IN_RECORD = TIME_IN_RECORD + 1
"""Cycles of stalls until then."""
FIELDS = SAVED + 2 * RECORD

LONG_AGO = -(1 << 60)
NOWHERE = -1
"""The accumulator that an empty slot writes."""
NOTHING = -2
"""The accumulator that a micro-op without a second operand from ACC uses."""


class UopMemory(NamedTuple):
    """The micro-op memory, with what is needed of `sim.semantics.chip.Chip` to find indices that
    are out of bounds."""

    uop: Ints
    src_shift: int
    wgt_shift: int
    dst_mask: int
    src_mask: int
    wgt_mask: int
    inp_depth: int
    wgt_depth: int
    acc_depth: int


def make_pipeline() -> Ints:
    """The state at launch: nothing is in the pipeline."""
    state = np.zeros(FIELDS, np.int64)
    state[ISSUED] = LONG_AGO
    state[RESULT:STAY] = NOWHERE
    state[STAY:LENGTH] = LONG_AGO
    return state


@inlined
def repeats(state: Ints, record: int, now: int, offset: int) -> bool:
    """Whether the pipeline is as at the last call, but for time and for the offset of indices.

    A stay or stall that is over counts as none: no micro-op meets it any more. The record also
    holds, last, the time of the call and the stalled cycles until then.
    """
    same = True
    for number in range(STALL - RESULT):
        value = state[RESULT + number] - offset
        if number >= STAY - RESULT:
            value = max(0, state[RESULT + number] - now)
        same = same and state[record + number] == value
        state[record + number] = value
    for number in range(STALLS):
        first, length = state[STALL + number] - now, state[LENGTH + number]
        if first + length <= 0:
            first = length = 0
        same = same and state[record + STALL_IN_RECORD + number] == first
        same = same and state[record + LENGTH_IN_RECORD + number] == length
        state[record + STALL_IN_RECORD + number] = first
        state[record + LENGTH_IN_RECORD + number] = length
    return same


@inlined
def repeat(state: Ints, record: int, now: int, times: int, step: int) -> int:
    """Repeat what happened since the last record; indices grow by `step` each time. Returns the
    next cycle."""
    cycles = (now - state[record + TIME_IN_RECORD]) * times
    state[STALLED] += (state[STALLED] - state[record + STALLED_IN_RECORD]) * times
    state[ISSUED] += cycles
    for number in range(STAY - RESULT):
        state[RESULT + number] += times * step
    for number in range(LENGTH - STAY):
        state[STAY + number] += cycles
    return int(now + cycles)


@inlined
def forget(state: Ints, record: int) -> None:
    """Make a record that no pipeline is like: of a stall before all times."""
    state[record + STALL_IN_RECORD] = LONG_AGO


@inlined
def remember(state: Ints, record: int, now: int) -> None:
    """Note the time of the record, for `repeat`."""
    state[record + TIME_IN_RECORD], state[record + STALLED_IN_RECORD] = now, state[STALLED]

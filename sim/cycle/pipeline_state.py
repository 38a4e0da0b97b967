"""The state of the pipeline of GEMM and ALU, and how it repeats from iteration to iteration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from base.jit import inlined

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
        same = same and state[record + 4 + number] == first
        same = same and state[record + 7 + number] == length
        state[record + 4 + number], state[record + 7 + number] = first, length
    return same


@inlined
def repeat(state: Ints, record: int, now: int, times: int, step: int) -> int:
    """Repeat what happened since the last record; indices grow by `step` each time. Returns the
    next cycle."""
    cycles = (now - state[record + 10]) * times
    state[STALLED] += (state[STALLED] - state[record + 11]) * times
    state[ISSUED] += cycles
    for number in range(STAY - RESULT):
        state[RESULT + number] += times * step
    for number in range(LENGTH - STAY):
        state[STAY + number] += cycles
    return int(now + cycles)


@inlined
def remember(state: Ints, record: int, now: int) -> None:
    """Note the time of the record, for `repeat`."""
    state[record + 10], state[record + 11] = now, state[STALLED]

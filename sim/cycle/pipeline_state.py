"""The state of the pipeline of GEMM and ALU, and how it repeats from iteration to iteration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.base.jit import inlined
from tandem.hw.custom_operations import MOST_STAGES
from tandem.hw.timing import FORWARD_DISTANCE

Ints = npt.NDArray[np.int64]

STALLS = 3
"""Stalls that a micro-op can meet, from its issue to the stage of the stall."""

NEAR = FORWARD_DISTANCE - 1 + MOST_STAGES - 1
"""The most micro-ops whose results a micro-op may have to wait for; `Machine.near` on a machine."""

# The state. Of the last micro-ops and of three stalls, the last one comes first.
ISSUED = 0
"""The cycle of the last issue."""
RESULT = 1
"""The accumulators that the last `NEAR` micro-ops write; only `Machine.near` are up to date."""
STAY = RESULT + NEAR
"""Their stays."""
STALL = STAY + NEAR
"""The first cycles of the last three micro-ops' stalls."""
LENGTH = STALL + STALLS
"""The lengths of these stalls."""
STALLED = LENGTH + STALLS
"""Cycles of stalls."""
SAVED = STALLED + 1
"""Two records of what decides about the micro-ops to come; see `repeats`."""
RECORD = STALLED + 1
"""Length of a record. It has the results and stays of the last micro-ops in the order of the state,
and behind them the fields below."""
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
def repeats(state: Ints, near: int, record: int, now: int, offset: int) -> bool:
    """Whether the pipeline is as at the last call, but for time and for the offset of indices.

    A stay or stall that is over counts as none: no micro-op meets it any more. The record also
    holds, last, the time of the call and the stalled cycles until then.
    """
    same = True
    for number in range(near):
        result = state[RESULT + number] - offset
        stay = max(0, state[STAY + number] - now)
        same = same and state[record + number] == result
        same = same and state[record + NEAR + number] == stay
        state[record + number] = result
        state[record + NEAR + number] = stay
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
def repeat(state: Ints, near: int, record: int, now: int, times: int, step: int) -> int:
    """Repeat what happened since the last record; indices grow by `step` each time. Returns the
    next cycle."""
    cycles = (now - state[record + TIME_IN_RECORD]) * times
    state[STALLED] += (state[STALLED] - state[record + STALLED_IN_RECORD]) * times
    state[ISSUED] += cycles
    for number in range(near):
        state[RESULT + number] += times * step
        state[STAY + number] += cycles
    for number in range(STALLS):
        state[STALL + number] += cycles
    return int(now + cycles)


@inlined
def forget(state: Ints, record: int) -> None:
    """Make a record that no pipeline is like: of a stall before all times."""
    state[record + STALL_IN_RECORD] = LONG_AGO


@inlined
def remember(state: Ints, record: int, now: int) -> None:
    """Note the time of the record, for `repeat`."""
    state[record + TIME_IN_RECORD], state[record + STALLED_IN_RECORD] = now, state[STALLED]

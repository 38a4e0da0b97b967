"""The pipeline of GEMM and ALU: when micro-ops are issued and instructions end (rule 6).

A micro-op's *stay* is its last cycle in the stage of the stall: three cycles after its issue, or,
if the micro-op waits for a result, three after the stay of the micro-op that computes it. While one
micro-op waits, those behind it wait too, and nothing is issued.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hw.encoding import Opcode
from hw.jit import compiled, inlined
from hw.operations import AluOp
from hw.timing import FORWARD_DISTANCE, STALL_STAGE
from sim.cycle.machine import Machine
from sim.semantics.fields import (
    ALU_OPCODE,
    DST_FACTOR_IN,
    DST_FACTOR_OUT,
    ITER_IN,
    ITER_OUT,
    OPCODE,
    SRC_FACTOR_IN,
    SRC_FACTOR_OUT,
    UOP_BGN,
    UOP_END,
    USE_IMM,
    InstructionFields,
)

Ints = npt.NDArray[np.int64]

GEMM = int(Opcode.GEMM)
MUL = int(AluOp.MUL)
SHR = int(AluOp.SHR)
AHEAD = FORWARD_DISTANCE - 1
"""Micro-ops ahead of one for whose results it can wait."""
STAGE = STALL_STAGE
DISTANCE = FORWARD_DISTANCE

# The state, indexed by these constants.
ISSUED = 0
"""The cycle of the last issue."""
RESULT = 1
"""The accumulators that the last two micro-ops write, the last one first."""
STAY = RESULT + AHEAD
"""Their stays."""
STALL = STAY + AHEAD
"""The first cycles of the last three micro-ops' stalls, the last one first."""
STALLS = 3
LENGTH = STALL + STALLS
"""The lengths of these stalls."""
STALLED = LENGTH + STALLS
"""Cycles of stalls."""
FIELDS = STALLED + 1

LONG_AGO = -(1 << 60)


def make_pipeline() -> Ints:
    """The state at launch: nothing is in the pipeline."""
    state = np.zeros(FIELDS, np.int64)
    state[ISSUED] = LONG_AGO
    state[RESULT:STAY] = -1
    state[STAY:STALL] = LONG_AGO
    state[STALL:LENGTH] = LONG_AGO
    return state


@inlined
def _next_issue(state: Ints, now: int) -> int:
    """The first cycle from `now` on without a stall."""
    for number in range(STALLS - 1, -1, -1):
        first = state[STALL + number]
        if first <= now < first + state[LENGTH + number]:
            now = first + state[LENGTH + number]
    return now


@inlined
def _enter(state: Ints, issued: int, dst: int, early: int, src: int) -> None:
    """A micro-op is issued that writes `dst`; with `early` it uses `dst` as operand of an early
    operation, and it uses `src` as second operand unless that is negative."""
    enters = issued + STAGE
    for number in range(STALLS - 1, -1, -1):
        first = state[STALL + number]
        if issued < first < enters:
            enters += state[LENGTH + number]
    stay = enters
    for number in range(AHEAD):
        result = state[RESULT + number]
        if (early and result == dst) or result == src:
            stay = max(stay, state[STAY + number] + DISTANCE)
    for number in range(AHEAD - 1, 0, -1):
        state[RESULT + number] = state[RESULT + number - 1]
        state[STAY + number] = state[STAY + number - 1]
    state[RESULT], state[STAY] = dst, stay
    for number in range(STALLS - 1, 0, -1):
        state[STALL + number] = state[STALL + number - 1]
        state[LENGTH + number] = state[LENGTH + number - 1]
    state[STALL], state[LENGTH] = enters, stay - enters
    state[STALLED] += stay - enters
    state[ISSUED] = issued


@compiled
def execute(
    machine: Machine, fields: Ints, uops: Ints, state: Ints, row: InstructionFields, start: int
) -> int:
    """Issue all micro-ops of an instruction that starts in cycle `start`; returns its end.

    `fields` are masks and shifts of micro-ops (dst mask, src shift, src mask), `uops` the micro-op
    memory. The cycle of the last issue is left in `state`.
    """
    bgn, count = row[UOP_BGN], row[UOP_END] - row[UOP_BGN]
    outer, inner = row[ITER_OUT], row[ITER_IN]
    gemm = row[OPCODE] == GEMM
    tensor = not gemm and row[USE_IMM] == 0
    early = not gemm and (row[ALU_OPCODE] == MUL or row[ALU_OPCODE] == SHR)
    bubbles = machine.two_reads - 1 if tensor else 0
    total = count * outer * inner
    position = 0
    now = start + 1
    if not tensor and not early and total > STAGE + STALLS:
        # Nothing waits: the first micro-ops may meet earlier stalls, the last ones are remembered.
        for _ in range(STAGE):
            state[ISSUED] = _next_issue(state, now)
            now = state[ISSUED] + 1
        position = total - STALLS
        now += position - STAGE
    for number in range(position, total):
        rest, k = divmod(number, count)
        o, i = divmod(rest, inner)
        word = uops[bgn + k]
        dst = (word & fields[0]) + o * row[DST_FACTOR_OUT] + i * row[DST_FACTOR_IN]
        src = -1
        if tensor:
            src = (word >> fields[1] & fields[2]) + o * row[SRC_FACTOR_OUT] + i * row[SRC_FACTOR_IN]
        issued = _next_issue(state, now)
        for _ in range(bubbles):
            issued = _next_issue(state, issued + 1)
        _enter(state, issued, dst, early, src)
        now = issued + 1
    return int(state[STAY] + machine.depth - STAGE)

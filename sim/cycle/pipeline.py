"""The pipeline of GEMM and ALU: when micro-ops are issued and instructions end (rule 6).

A micro-op's *stay* is its last cycle in the stage of the stall: three cycles after its issue, or,
if the micro-op waits for a result, three after the stay of the micro-op that computes it. While one
micro-op waits, those behind it wait too, and nothing is issued.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled, inlined
from tandem.hw.encoding import Opcode
from tandem.hw.isa.columns import (
    ALU_OPCODE,
    DST_FACTOR_IN,
    DST_FACTOR_OUT,
    ITER_IN,
    OPCODE,
    SRC_FACTOR_IN,
    SRC_FACTOR_OUT,
    UOP_BGN,
    UOP_END,
    InstructionFields,
)
from tandem.hw.operations import AluOp
from tandem.hw.timing import EARLY_OPS, FORWARD_DISTANCE, INDEX_STAGE, STALL_STAGE
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.pipeline_state import (
    ISSUED,
    LENGTH,
    NOTHING,
    NOWHERE,
    RECORD,
    RESULT,
    SAVED,
    STALL,
    STALLED,
    STALLS,
    STAY,
    UopMemory,
    forget,
    remember,
    repeat,
    repeats,
)
from tandem.sim.semantics.operands import operands_used_inline

Ints = npt.NDArray[np.int64]

ALU = int(Opcode.ALU)
MUL, SHR = (int(AluOp.MUL), int(AluOp.SHR))
assert set(EARLY_OPS) == {AluOp.MUL, AluOp.SHR}
STAGE = STALL_STAGE
INDICES = INDEX_STAGE
DISTANCE = FORWARD_DISTANCE


@inlined
def _after_stalls(state: Ints, now: int) -> int:
    """The first cycle from `now` on without a stall."""
    for number in range(STALLS - 1, -1, -1):
        first = state[STALL + number]
        if first <= now < first + state[LENGTH + number]:
            now = first + state[LENGTH + number]
    return now


@inlined
def _enters(state: Ints, issued: int, stage: int, newest: int) -> int:
    """The cycle in which a micro-op that was issued in `issued` enters a stage, behind the stalls
    from number `newest` on."""
    enters = issued + stage
    for number in range(STALLS - 1, newest - 1, -1):
        first = state[STALL + number]
        if issued < first < enters:
            enters += state[LENGTH + number]
    return enters


@inlined
def _enter(
    state: Ints, near: int, distance: int, issued: int, dst: int, early: int, src: int
) -> None:
    """A micro-op is issued that writes `dst`; with `early` it uses `dst` as operand of an early
    operation, and it uses `src` as second operand unless that is negative. Results that it uses
    have to be `distance` slots ahead."""
    enters = _enters(state, issued, STAGE, 0)
    stay = enters
    for number in range(distance - 1):
        if (early and state[RESULT + number] == dst) or state[RESULT + number] == src:
            stay = max(stay, state[STAY + number] + distance)
    for number in range(near - 1, 0, -1):
        state[RESULT + number] = state[RESULT + number - 1]
        state[STAY + number] = state[STAY + number - 1]
    state[RESULT], state[STAY] = dst, stay
    state[STALL + 2], state[LENGTH + 2] = state[STALL + 1], state[LENGTH + 1]
    state[STALL + 1], state[LENGTH + 1] = state[STALL], state[LENGTH]
    state[STALL], state[LENGTH] = enters, stay - enters
    state[STALLED] += stay - enters
    state[ISSUED] = issued


@compiled
def execute(
    machine: Machine,
    memory: UopMemory,
    state: Ints,
    row: InstructionFields,
    start: int,
    stop: int,
    limit: int,
) -> int:
    """Issue micro-ops 0 to `stop` of an instruction that starts in cycle `start`; returns the cycle
    of the last one's write, or a cycle after `limit` if that is earlier.

    The cycle of the last issue is left in `state`.
    """
    bgn, count = row[UOP_BGN], row[UOP_END] - row[UOP_BGN]
    inner = row[ITER_IN]
    dst_out, dst_in = row[DST_FACTOR_OUT], row[DST_FACTOR_IN]
    src_out, src_in = row[SRC_FACTOR_OUT], row[SRC_FACTOR_IN]
    _dst, _inp, _wgt, from_acc = operands_used_inline(row)
    custom = row[OPCODE] == ALU and machine.custom >> row[ALU_OPCODE] & 1
    early = custom or (row[OPCODE] == ALU and (row[ALU_OPCODE] == MUL or row[ALU_OPCODE] == SHR))
    near, distance = machine.near, DISTANCE
    bubbles = machine.two_reads - 1 if from_acc else 0
    number = 0
    now = start + 1
    if custom:
        distance += machine.custom_lead
        for _ in range(machine.custom_lead):
            now = _after_stalls(state, now) + 1
    remembered = max(STALLS, near)
    if not from_acc and not early and stop > STAGE + remembered:
        # Nothing waits: the first micro-ops may meet earlier stalls, the last ones are remembered.
        for _ in range(STAGE):
            state[ISSUED] = _after_stalls(state, now)
            now = state[ISSUED] + 1
        number = stop - remembered
        now += number - STAGE
    inside = SAVED
    outside = SAVED + RECORD
    forget(state, inside)
    forget(state, outside)
    iteration, k = divmod(number, count)
    o, i = divmod(iteration, inner)
    dst_first, src_first = o * dst_out + i * dst_in, o * src_out + i * src_in
    while number < stop:
        word = memory.uop[bgn + k]
        src = NOTHING
        if from_acc:
            src = src_first + (word >> memory.src_shift & memory.src_mask)
        issued = _after_stalls(state, now)
        for _ in range(bubbles):
            issued = _after_stalls(state, issued + 1)
        dst = dst_first + (word & memory.dst_mask)
        _enter(state, near, distance, issued, dst, early, src)
        now = issued + 1
        number += 1
        k += 1
        if k < count:
            continue
        # An iteration whose micro-ops wait as those of the last one did repeats to the end, if all
        # indices move alike.
        k = 0
        if now > limit:
            break
        i += 1
        if i < inner:
            left = min(inner - i, (stop - number) // count)
            if left > 0 and (not from_acc or src_in == dst_in):
                if repeats(state, near, inside, now, dst_first):
                    now = repeat(state, near, inside, now, left, dst_in)
                    number += left * count
                    i += left
                remember(state, inside, now)
        if i == inner:
            i = 0
            o += 1
            forget(state, inside)
            left = (stop - number) // (inner * count)
            if left > 0 and (not from_acc or src_out == dst_out):
                if repeats(state, near, outside, now, (o - 1) * dst_out):
                    now = repeat(state, near, outside, now, left, dst_out)
                    number += left * inner * count
                    o += left
                remember(state, outside, now)
        dst_first, src_first = o * dst_out + i * dst_in, o * src_out + i * src_in
    return _written(machine, state)


@inlined
def _written(machine: Machine, state: Ints) -> int:
    """The cycle in which the last slot leaves the pipeline, with its micro-op's write."""
    return int(state[STAY] + machine.depth - STAGE)


@compiled
def pass_slot(machine: Machine, state: Ints, start: int) -> int:
    """Issue the empty slot of a REQUANTISE that starts in cycle `start`; returns the cycle in which
    it leaves the pipeline."""
    issued = _after_stalls(state, start + 1)
    _enter(state, machine.near, DISTANCE, issued, NOWHERE, False, NOTHING)
    return _written(machine, state)


@inlined
def refused_index(state: Ints) -> int:
    """The cycle in which the last micro-op's indices are checked: its first in that stage."""
    return _enters(state, state[ISSUED], INDICES, 1)


@inlined
def refused_shift(machine: Machine, state: Ints) -> int:
    """The cycle in which the last micro-op's shift is checked: the one before its write."""
    return int(state[STAY] + machine.depth - STAGE - 1)

"""Compiled scheduling: dispatch, three in-order instruction queues, tokens between units.

Instructions are executed one at a time: of all that can start, the first in program order. So a
program without races gives its only possible result, and a program with races gives the result of
program order, as far as its tokens allow that order.
"""

from __future__ import annotations

from tandem.base.jit import compiled, inlined
from tandem.hw.encoding import Opcode
from tandem.hw.faults import Fault
from tandem.hw.isa.columns import OPCODE, X_SIZE, Y_SIZE, InstructionFields
from tandem.hw.topology import MAX_TOKENS, TokenQueue, Unit
from tandem.sim.functional.plan import NOWHERE, Plan
from tandem.sim.functional.state import (
    ACTIVE,
    DISPATCHED,
    EXECUTED,
    FAULTY,
    FINISHED,
    ISSUED,
    MICRO_OPS,
    POSITION,
    STARTED,
    TOKENS,
    State,
)
from tandem.sim.semantics.chip import Chip
from tandem.sim.semantics.compute import compute
from tandem.sim.semantics.custom import CustomCode
from tandem.sim.semantics.detail import NONE, Detail
from tandem.sim.semantics.dram import Dram
from tandem.sim.semantics.load import load, load_with_out, set_table
from tandem.sim.semantics.loops import micro_ops
from tandem.sim.semantics.requantiser import Requantiser
from tandem.sim.semantics.store import store, store_out

RUNNING = 0
"""Status: the budget is spent, and the program has not ended."""
DONE = -1
"""Status: the program has finished without a fault."""

LOAD = int(Opcode.LOAD)
STORE = int(Opcode.STORE)
GEMM = int(Opcode.GEMM)
ALU = int(Opcode.ALU)
REQUANTISE = int(Opcode.REQUANTISE)
TABLE = int(Opcode.TABLE)
UNITS = len(Unit)
QUEUES = len(TokenQueue)
NO_FINISH = int(Fault.NO_FINISH)
TOKENS_LEFT = int(Fault.TOKENS_LEFT)
TOKEN_OVERFLOW = int(Fault.TOKEN_OVERFLOW)
DEADLOCK = int(Fault.DEADLOCK)


@compiled
def run_slice(
    plan: Plan,
    chip: Chip,
    requantiser: Requantiser | None,
    custom: CustomCode | None,
    dram: Dram,
    state: State,
    log: InstructionFields,
    detail: Detail,
    budget: int,
    limit: int,
) -> int:
    """Continue the run for about `budget` micro-ops (a moved element counts as one).

    Returns early after more than `limit` micro-ops of the whole run. Appends instructions to
    `log` as they start. Returns RUNNING, DONE or a fault's code.
    """
    while budget > 0 and state[MICRO_OPS] <= limit:
        if state[ACTIVE] < 0 and not _start_next(plan, state, log):
            return _final_status(plan, state)
        row = plan.table[state[ACTIVE]]
        if row[OPCODE] == GEMM or row[OPCODE] == ALU:
            most = min(budget, limit + 1 - state[MICRO_OPS])
            fault, cost = _compute(chip, requantiser, custom, row, state, detail, most)
        else:
            fault, cost = _transfer(chip, requantiser, dram, row, state, detail)
        budget -= cost
        if fault == NONE and state[POSITION] == 0:
            fault = _complete(plan, state)
        if fault != NONE:
            state[FAULTY] = state[ACTIVE]
            return fault
    return RUNNING


@compiled
def _start_next(plan: Plan, state: State, log: InstructionFields) -> bool:
    """Start the earliest instruction that can start; returns False if none can."""
    _dispatch(plan, state)
    chosen = -1
    for unit in range(UNITS):
        if state[STARTED + unit] < state[ISSUED + unit]:
            candidate = plan.stream[plan.first[unit] + state[STARTED + unit]]
            prev, following = plan.queues[candidate, 0], plan.queues[candidate, 1]
            ready = state[TOKENS + prev] > 0 and state[TOKENS + following] > 0
            if ready and (chosen < 0 or candidate < chosen):
                chosen = candidate
    if chosen < 0:
        return False
    state[TOKENS + plan.queues[chosen, 0]] -= 1
    state[TOKENS + plan.queues[chosen, 1]] -= 1
    state[TOKENS + NOWHERE] = 1
    state[STARTED + plan.units[chosen]] += 1
    state[ACTIVE] = chosen
    state[POSITION] = 0
    log[state[EXECUTED]] = chosen
    state[EXECUTED] += 1
    return True


@inlined
def _dispatch(plan: Plan, state: State) -> None:
    """Move instructions to the queues until a queue is full or an instruction is refused."""
    while state[DISPATCHED] < len(plan.units):
        instruction = state[DISPATCHED]
        unit = plan.units[instruction]
        if plan.faults[instruction] != NONE:
            break
        if state[ISSUED + unit] - state[STARTED + unit] >= plan.queue_depth:
            break
        state[ISSUED + unit] += 1
        state[DISPATCHED] += 1


@compiled
def _compute(
    chip: Chip,
    requantiser: Requantiser | None,
    custom: CustomCode | None,
    row: InstructionFields,
    state: State,
    detail: Detail,
    most: int,
) -> tuple[int, int]:
    """Execute at most `most` micro-ops of a GEMM or ALU; returns a fault's code and the count."""
    total = micro_ops(row)
    start = state[POSITION]
    stop = min(total, start + most)
    fault = compute(chip, requantiser, custom, row, start, stop, detail)
    state[MICRO_OPS] += stop - start
    state[POSITION] = 0 if stop == total else stop
    return fault, stop - start


@compiled
def _transfer(
    chip: Chip,
    requantiser: Requantiser | None,
    dram: Dram,
    row: InstructionFields,
    state: State,
    detail: Detail,
) -> tuple[int, int]:
    """Execute any other instruction; returns a fault's code and the cost in micro-ops."""
    fault = NONE
    if row[OPCODE] == LOAD:
        if requantiser is None:
            fault = load(chip, dram, row, detail)
        else:
            fault = load_with_out(chip, requantiser, dram, row, detail)
    elif row[OPCODE] == STORE:
        if requantiser is None:
            fault = store(chip, dram, row, detail)
        else:
            fault = store_out(chip, requantiser, dram, row, detail)
    elif row[OPCODE] == REQUANTISE:
        if requantiser is not None:
            # A loop: an assignment of slices takes seconds to compile, with the text of its error.
            for field in range(len(row)):
                requantiser.mode[field] = row[field]
    elif row[OPCODE] == TABLE:
        set_table(chip, row)
    else:
        state[FINISHED] = 1
    return fault, 1 + row[X_SIZE] * row[Y_SIZE]


@inlined
def _complete(plan: Plan, state: State) -> int:
    """Push the tokens of the instruction that has ended."""
    instruction = state[ACTIVE]
    for column in range(2, 4):
        queue = plan.queues[instruction, column]
        state[TOKENS + queue] += 1
        if queue != NOWHERE and state[TOKENS + queue] > MAX_TOKENS:
            return TOKEN_OVERFLOW
    state[TOKENS + NOWHERE] = 1
    state[ACTIVE] = -1
    return NONE


@compiled
def _final_status(plan: Plan, state: State) -> int:
    """The status of a run in which no instruction can start: DONE or a fault's code."""
    if state[DISPATCHED] < len(plan.units):
        refused = plan.faults[state[DISPATCHED]]
        if refused != NONE:
            state[FAULTY] = state[DISPATCHED]
            return int(refused)
    if state[EXECUTED] < len(plan.units):
        return DEADLOCK
    if not state[FINISHED]:
        return NO_FINISH
    for queue in range(QUEUES):
        if state[TOKENS + queue] != 0:
            return TOKENS_LEFT
    return DONE

"""The order of things, compiled: dispatch, three queues in order, tokens between them.

Of the instructions that could start, the earliest in the program does, and runs to its end before
another starts. So a program that holds its order by tokens gets the one result it can have, and
one that does not gets the result of running it in program order as far as its tokens let it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hw.encoding import Opcode
from hw.faults import Fault
from hw.jit import cached, compiled, fingerprint, inlined
from hw.topology import MAX_TOKENS, Module, TokenQueue
from sim.functional.plan import NOWHERE, Plan
from sim.functional.state import (
    ACTIVE,
    CULPRIT,
    DISPATCHED,
    EXECUTED,
    FINISHED,
    ISSUED,
    MICRO_OPS,
    POSITION,
    STAMP,
    STARTED,
    TOKENS,
    State,
)
from sim.semantics.alu import alu
from sim.semantics.chip import Chip
from sim.semantics.detail import NONE, Detail
from sim.semantics.dram import Dram
from sim.semantics.fields import OPCODE, X_SIZE, Y_SIZE, Row, Table
from sim.semantics.gemm import gemm
from sim.semantics.load import load
from sim.semantics.loops import micro_ops
from sim.semantics.store import store

__all__ = ["DONE", "RUNNING", "RunSlice", "make_run_slice"]

RUNNING = 0
"""The budget is spent; call again."""
DONE = -1
"""The program has finished as it should."""

LOAD = int(Opcode.LOAD)
STORE = int(Opcode.STORE)
GEMM = int(Opcode.GEMM)
ALU = int(Opcode.ALU)
MODULES = len(Module)
QUEUES = len(TokenQueue)
NO_FINISH = int(Fault.NO_FINISH)
TOKENS_LEFT = int(Fault.TOKENS_LEFT)
TOKEN_OVERFLOW = int(Fault.TOKEN_OVERFLOW)
DEADLOCK = int(Fault.DEADLOCK)

RunSlice = Callable[[Plan, Chip, Dram, State, Table, Detail, int, int], int]


@cache
def make_run_slice() -> RunSlice:
    """The compiled entry, the same for every engine and configuration.

    Machine code on disk is used where it came from this very source.
    """
    stamp = fingerprint("hw", "sim.semantics", "sim.functional")

    @cached
    def run_slice(
        plan: Plan,
        chip: Chip,
        dram: Dram,
        state: State,
        log: Row,
        detail: Detail,
        budget: int,
        limit: int,
    ) -> int:
        """Run on for about `budget` micro-ops (a moved element counts as one, too).

        It ends at once when more than `limit` micro-ops of the whole run are done. `log` gets the
        instructions in the order in which they start. Returns RUNNING, DONE or a fault's code.
        """
        state[STAMP] = stamp
        while budget > 0 and state[MICRO_OPS] <= limit:
            if state[ACTIVE] < 0 and not _start_next(plan, state, log):
                return _ending(plan, state)
            row = plan.table[state[ACTIVE]]
            if row[OPCODE] == GEMM or row[OPCODE] == ALU:
                most = min(budget, limit + 1 - state[MICRO_OPS])
                fault, cost = _compute(chip, row, state, detail, most)
            else:
                fault, cost = _other(chip, dram, row, state, detail)
            budget -= cost
            if fault == NONE and state[POSITION] == 0:
                fault = _complete(plan, state)
            if fault != NONE:
                state[CULPRIT] = state[ACTIVE]
                return fault
        return RUNNING

    return run_slice


@compiled
def _start_next(plan: Plan, state: State, log: Row) -> bool:
    """Start the earliest instruction that can; whether there is one."""
    _dispatch(plan, state)
    chosen = -1
    for module in range(MODULES):
        if state[STARTED + module] < state[ISSUED + module]:
            candidate = plan.stream[plan.first[module] + state[STARTED + module]]
            prev, following = plan.queues[candidate, 0], plan.queues[candidate, 1]
            ready = state[TOKENS + prev] > 0 and state[TOKENS + following] > 0
            if ready and (chosen < 0 or candidate < chosen):
                chosen = candidate
    if chosen < 0:
        return False
    state[TOKENS + plan.queues[chosen, 0]] -= 1
    state[TOKENS + plan.queues[chosen, 1]] -= 1
    state[TOKENS + NOWHERE] = 1
    state[STARTED + plan.modules[chosen]] += 1
    state[ACTIVE] = chosen
    state[POSITION] = 0
    log[state[EXECUTED]] = chosen
    state[EXECUTED] += 1
    return True


@inlined
def _dispatch(plan: Plan, state: State) -> None:
    """Deal instructions to the queues until one meets a full queue, or is refused."""
    while state[DISPATCHED] < len(plan.modules):
        instruction = state[DISPATCHED]
        module = plan.modules[instruction]
        if plan.faults[instruction] != NONE:
            break
        if state[ISSUED + module] - state[STARTED + module] >= plan.queue_depth:
            break
        state[ISSUED + module] += 1
        state[DISPATCHED] += 1


@compiled
def _compute(chip: Chip, row: Row, state: State, detail: Detail, most: int) -> tuple[int, int]:
    """At most `most` micro-ops of a GEMM or ALU: the fault's code and how many there were."""
    total = micro_ops(row)
    start = state[POSITION]
    stop = min(total, start + most)
    if row[OPCODE] == GEMM:
        fault = gemm(chip, row, start, stop, detail)
    else:
        fault = alu(chip, row, start, stop, detail)
    state[MICRO_OPS] += stop - start
    state[POSITION] = 0 if stop == total else stop
    return fault, stop - start


@compiled
def _other(chip: Chip, dram: Dram, row: Row, state: State, detail: Detail) -> tuple[int, int]:
    """LOAD, STORE or FINISH: the fault's code and the cost."""
    fault = NONE
    if row[OPCODE] == LOAD:
        fault = load(chip, dram, row, detail)
    elif row[OPCODE] == STORE:
        fault = store(chip, dram, row, detail)
    else:
        state[FINISHED] = 1
    return fault, 1 + row[X_SIZE] * row[Y_SIZE]


@inlined
def _complete(plan: Plan, state: State) -> int:
    """Give the tokens of the instruction that is done."""
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
def _ending(plan: Plan, state: State) -> int:
    """What it means that no instruction can start."""
    if state[DISPATCHED] < len(plan.modules):
        refused = plan.faults[state[DISPATCHED]]
        if refused != NONE:
            state[CULPRIT] = state[DISPATCHED]
            return int(refused)
    if state[EXECUTED] < len(plan.modules):
        return DEADLOCK
    if not state[FINISHED]:
        return NO_FINISH
    for queue in range(QUEUES):
        if state[TOKENS + queue] != 0:
            return TOKENS_LEFT
    return DONE

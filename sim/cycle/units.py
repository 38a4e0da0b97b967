"""The three units: when each instruction starts and ends, and the tokens (rules 4 to 8)."""

from __future__ import annotations

from tandem.base.jit import compiled, inlined
from tandem.hw.encoding import Opcode
from tandem.hw.isa.columns import (
    CODING,
    DRAM_BASE,
    MEMORY_TYPE,
    OPCODE,
    SRAM_BASE,
    X_PAD_0,
    X_PAD_1,
    X_SIZE,
    X_STRIDE,
    Y_PAD_0,
    Y_PAD_1,
    Y_SIZE,
)
from tandem.hw.topology import MemoryId, TokenQueue, Unit
from tandem.hw.widening import TABLE_CYCLES
from tandem.sim.cycle import loads
from tandem.sim.cycle.faults import check_micro_ops
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.pipeline import execute, pass_slot
from tandem.sim.cycle.pipeline_state import ISSUED
from tandem.sim.cycle.reads import COMPUTE, LOAD, Reads, request
from tandem.sim.cycle.state import (
    DISPATCH,
    DISPATCHED,
    END,
    ENDED,
    LAST,
    LIMIT,
    LOOPS_AT,
    NEXT,
    POPPED,
    PUSHED,
    QUEUES,
    READY_AT,
    START,
    WAKE,
    WATCH,
    WATCH_INDICES,
    WROTE,
    Run,
)
from tandem.sim.cycle.stores import READY, Stores, store
from tandem.sim.semantics.loops import micro_ops

OP_LOAD = int(Opcode.LOAD)
OP_GEMM = int(Opcode.GEMM)
OP_ALU = int(Opcode.ALU)
OP_REQUANTISE = int(Opcode.REQUANTISE)
OP_TABLE = int(Opcode.TABLE)
UOP = int(MemoryId.UOP)
U_LOAD = int(Unit.LOAD)
U_COMPUTE = int(Unit.COMPUTE)
U_STORE = int(Unit.STORE)
CONSUMERS = tuple(int(queue.consumer) for queue in TokenQueue)
"""The unit that pops each queue's tokens."""


@inlined
def start(machine: Machine, run: Run, reads: Reads, stores: Stores, unit: int) -> bool:
    """Start a unit's next instruction, if its start is known; returns whether it was."""
    state, times = run.state, run.times
    place = run.first[unit] + state[NEXT + unit]
    if place >= run.first[unit + 1]:
        return False
    at = run.stream[place]
    if at >= state[DISPATCHED] or (unit != U_STORE and run.dma[unit, loads.INSTRUCTION] >= 0):
        return False
    prev, following = run.queues[at, 0], run.queues[at, 1]
    row = run.table[at]
    opcode = row[OPCODE]
    is_loop = opcode == OP_GEMM or opcode == OP_ALU or opcode == OP_REQUANTISE
    now = max(times[DISPATCH, at] + 1, state[LOOPS_AT] if is_loop else state[READY_AT + unit])
    if prev < QUEUES:
        token = state[POPPED + prev]
        if token >= state[PUSHED + prev]:
            return False
        now = max(now, run.pushes[prev, token] + 1)
    if following < QUEUES:
        token = state[POPPED + following]
        if token >= state[PUSHED + following]:
            return False
        now = max(now, run.pushes[following, token] + 1)
    state[POPPED + prev] += 1
    state[POPPED + following] += 1
    state[NEXT + unit] += 1
    times[START, at] = now
    times[WROTE, at] = -1
    if is_loop:
        if opcode == OP_REQUANTISE:
            ended = pass_slot(machine, run.pipeline[0], now)
        else:
            if state[WATCH] & WATCH_INDICES:
                check_micro_ops(machine, run, row, at, now)
            ended = execute(
                machine, run.memory, run.pipeline[0], row, now, micro_ops(row), state[LIMIT]
            )
        state[LOOPS_AT] = run.pipeline[0, ISSUED]
        state[READY_AT + unit] = ended + 1
        end(run, at, ended + machine.out_delay)
    elif unit == U_STORE:
        end(run, at, store(machine, run, stores, row, at, now))
        state[READY_AT + unit] = stores.state[READY]
    elif opcode == OP_TABLE:
        state[READY_AT + unit] = now + TABLE_CYCLES + 1
        end(run, at, now + TABLE_CYCLES)
    elif opcode == OP_LOAD and row[X_SIZE] > 0:
        memory = row[MEMORY_TYPE]
        size = run.element_bytes[memory, row[CODING]]
        step = run.dram_units[memory]
        address = run.bases[memory] + row[DRAM_BASE] * step
        stride = row[X_STRIDE] * step
        which = LOAD if unit == U_LOAD else COMPUTE
        if memory == UOP:
            load_micro_ops(run, at)
        client, dma = reads.clients[which], run.dma[unit]
        request(machine, client, now, address, row[X_SIZE] * size, stride, row[Y_SIZE])
        dma[loads.INSTRUCTION] = at
        dma[loads.STEP] = stride
        loads.begin(machine, dma, row, size, address, now)
    else:
        state[READY_AT + unit] = now + 2
        ended = now + 1
        if unit == U_COMPUTE:
            state[LOOPS_AT] = now + 2
            ended += machine.out_delay
        end(run, at, ended)
    return True


@inlined
def end(run: Run, instruction: int, now: int) -> None:
    """An instruction ends, and pushes its tokens, in cycle `now`."""
    state = run.state
    run.times[END, instruction] = now
    state[ENDED] += 1
    state[LAST] = max(state[LAST], now)
    for side in range(2, 4):
        queue = run.queues[instruction, side]
        if queue < QUEUES:
            run.pushes[queue, state[PUSHED + queue]] = now
            state[PUSHED + queue] += 1
            state[WAKE] |= 1 << CONSUMERS[queue]


@inlined
def end_load(machine: Machine, run: Run, unit: int) -> None:
    """The LOAD of a unit ends: all its beats are known."""
    state, dma = run.state, run.dma[unit]
    instruction = dma[loads.INSTRUCTION]
    ended = loads.end(dma, run.table[instruction])
    end(run, instruction, ended + (machine.out_delay if unit == U_COMPUTE else 0))
    run.times[WROTE, instruction] = dma[loads.WRITES]
    state[READY_AT + unit] = ended + 1
    if unit == U_COMPUTE:
        state[LOOPS_AT] = ended + 1
    dma[loads.INSTRUCTION] = -1
    state[WAKE] |= 1 << unit


@compiled
def load_micro_ops(run: Run, instruction: int) -> None:
    """Put the micro-ops of a LOAD into the micro-op memory."""
    row = run.table[instruction]
    to, word = row[SRAM_BASE], run.word[instruction]
    width = row[X_PAD_0] + row[X_SIZE] + row[X_PAD_1]
    height = row[Y_PAD_0] + row[Y_SIZE] + row[Y_PAD_1]
    for place in range(to, to + width * height):
        run.memory.uop[place] = 0
    for y in range(row[Y_SIZE]):
        place = to + (row[Y_PAD_0] + y) * width + row[X_PAD_0]
        for x in range(row[X_SIZE]):
            run.memory.uop[place + x] = run.words[word]
            word += 1

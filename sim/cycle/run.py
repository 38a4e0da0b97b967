"""The run of a program: dispatch, three units and their tokens, from event to event.

Dispatch, start and end of an instruction follow from those of its predecessors, from tokens, and
from the beats of its LOAD. So the run computes all times that are known, as far ahead as they go,
and then grants the earliest burst that a client offers. A burst that is not known yet comes later:
it depends on one that is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hw.encoding import Opcode
from hw.jit import cached, compiled, fingerprint, inlined
from hw.timing import CHECK_STAGES
from hw.topology import MemoryId, TokenQueue, Unit
from sim.cycle import loads
from sim.cycle.loads import begin, take_burst
from sim.cycle.machine import Machine
from sim.cycle.pipeline import ISSUED, execute
from sim.cycle.reads import (
    ACTIVE,
    BEATS,
    COMPUTE,
    FETCH,
    GRANTED,
    LOAD,
    NEVER,
    Reads,
    choose,
    grant,
    request,
    use,
)
from sim.cycle.stores import READY, Stores, store
from sim.semantics.fields import (
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
    ProgramTable,
)
from sim.semantics.view import borrowed

Ints = npt.NDArray[np.int64]

OP_LOAD = int(Opcode.LOAD)
OP_STORE = int(Opcode.STORE)
OP_GEMM = int(Opcode.GEMM)
OP_ALU = int(Opcode.ALU)
UOP = int(MemoryId.UOP)
OUT = int(MemoryId.OUT)
UNITS = len(Unit)
U_LOAD = int(Unit.LOAD)
U_COMPUTE = int(Unit.COMPUTE)
U_STORE = int(Unit.STORE)
QUEUES = len(TokenQueue)
CONSUMERS = tuple(int(queue.consumer) for queue in TokenQueue)
"""The unit that pops each queue's tokens."""
STAGES = CHECK_STAGES
INSTRUCTION_SHIFT = 4

# The state of the run, indexed by these constants.
DISPATCHED = 0
"""Instructions whose dispatch is known."""
HALF = 1
"""Beats of the next instruction whose use is known (of a bus narrower than an instruction)."""
NEXT = 2
"""[unit] Position, in its unit's stream, of the first instruction whose start is not known."""
READY_AT = NEXT + UNITS
"""[unit] The first cycle in which a unit can start an instruction."""
LOOPS_AT = READY_AT + UNITS
"""The first cycle in which compute can start a GEMM or ALU."""
ENDED = LOOPS_AT + 1
"""Instructions whose end is known."""
POPPED = ENDED + 1
"""[queue] Tokens popped."""
PUSHED = POPPED + QUEUES + 1
"""[queue] Tokens pushed."""
FETCHES = PUSHED + QUEUES + 1
"""Instructions that entered check."""
WAKE = FETCHES + 1
"""The parts whose inputs have changed, a bit each: the units, then the two below."""
FINGERPRINT = WAKE + 1
"""The fingerprint of the source that the code was compiled from."""
FIELDS = FINGERPRINT + 1
WAKE_FETCH = 1 << UNITS
WAKE_DISPATCH = 2 << UNITS

# Times of each instruction.
MOVED = 0
"""It enters the first stage of check."""
FETCHED = 1
DISPATCH = 2
START = 3
END = 4
WROTE = 5
"""Of a LOAD: its writes, for the cycles in which it has nothing to write."""
TIMES = 6


class Run(NamedTuple):
    """A program and everything that is known of its run."""

    table: ProgramTable
    units: Ints
    queues: Ints
    """For each instruction the two token queues that it pops and the two that it pushes."""
    stream: Ints
    first: Ints
    """Index in `stream` of each unit's first instruction; then its length."""
    ordinal: Ints
    """Each instruction's position in its unit's stream."""
    address: int
    element_bytes: Ints
    bases: Ints
    state: Ints
    times: Ints
    """[time, instruction]"""
    available: Ints
    """For each beat of the program, the cycle from which it can be used."""
    pushes: Ints
    """[queue, token]: the cycle of each push."""
    dma: Ints
    """[unit, field]: the DMAs of load and compute."""
    pipeline: Ints
    uops: Ints
    """The micro-op memory."""
    fields: Ints
    """Masks and shifts of micro-ops."""
    words: npt.NDArray[np.uint8]
    """DRAM, for the contents of micro-ops."""


Runner = Callable[[Machine, Run, Reads, Stores], int]
"""A function that runs a program to its end, and returns the last cycle in which an instruction
ends, or -1 if no instruction can go on."""


@cache
def make_runner() -> Runner:
    """The compiled function, the same for every configuration and memory.

    Its machine code comes from the disk cache unless the source has changed.
    """
    source = fingerprint("hw", "sim.semantics", "sim.cycle")

    @cached
    def run(machine: Machine, run_: Run, reads: Reads, stores: Stores) -> int:
        run_.state[FINGERPRINT] = source
        return _borrowing(machine, run_, reads, stores)

    return run


@inlined
def _borrowing(machine: Machine, run_: Run, reads: Reads, stores: Stores) -> int:
    """`_run` on arrays whose references are not counted."""
    return _run(
        machine,
        Run(
            borrowed(run_.table),
            borrowed(run_.units),
            borrowed(run_.queues),
            borrowed(run_.stream),
            borrowed(run_.first),
            borrowed(run_.ordinal),
            run_.address,
            borrowed(run_.element_bytes),
            borrowed(run_.bases),
            borrowed(run_.state),
            borrowed(run_.times),
            borrowed(run_.available),
            borrowed(run_.pushes),
            borrowed(run_.dma),
            borrowed(run_.pipeline),
            borrowed(run_.uops),
            borrowed(run_.fields),
            borrowed(run_.words),
        ),
        Reads(
            borrowed(reads.clients),
            borrowed(reads.master),
            borrowed(reads.ends),
            borrowed(reads.used),
        ),
        Stores(
            borrowed(stores.state),
            borrowed(stores.done),
            borrowed(stores.answered),
            borrowed(stores.taken),
        ),
    )


@compiled
def _run(machine: Machine, run_: Run, reads: Reads, stores: Stores) -> int:
    """Run to the end; see `Runner`."""
    count = len(run_.units)
    run_.state[WAKE] = 0
    request(machine, reads.clients[FETCH], 0, run_.address, count << INSTRUCTION_SHIFT, 0, 1)
    while True:
        _advance(machine, run_, reads, stores)
        if run_.state[ENDED] == count:
            return int(run_.times[END].max())
        while True:
            which, now = choose(machine, reads)
            if now == NEVER:
                return -1
            client = reads.clients[which]
            before = client[GRANTED]
            beats = client[BEATS]
            first = grant(machine, reads, which, now)
            if which == FETCH:
                for beat in range(beats):
                    run_.available[before + beat] = first + beat * machine.interval + 1
                run_.state[WAKE] |= WAKE_FETCH
                break
            unit = U_LOAD if which == LOAD else U_COMPUTE
            dma = run_.dma[unit]
            instruction = dma[loads.INSTRUCTION]
            row = run_.table[instruction]
            take_burst(machine, reads, which, dma, row, dma[loads.STEP], first, beats)
            if not client[ACTIVE]:
                _end(run_, instruction, loads.end(dma, row))
                run_.times[WROTE, instruction] = dma[loads.WRITES]
                run_.state[READY_AT + unit] = run_.times[END, instruction] + 1
                if unit == U_COMPUTE:
                    run_.state[LOOPS_AT] = run_.times[END, instruction] + 1
                dma[loads.INSTRUCTION] = -1
                run_.state[WAKE] |= 1 << unit
                break


@inlined
def _end(run_: Run, instruction: int, now: int) -> None:
    """An instruction ends, and pushes its tokens, in cycle `now`."""
    run_.times[END, instruction] = now
    run_.state[ENDED] += 1
    for side in range(2, 4):
        queue = run_.queues[instruction, side]
        if queue < QUEUES:
            run_.pushes[queue, run_.state[PUSHED + queue]] = now
            run_.state[PUSHED + queue] += 1
            run_.state[WAKE] |= 1 << CONSUMERS[queue]


@compiled
def _advance(machine: Machine, run_: Run, reads: Reads, stores: Stores) -> None:
    """Compute everything that is known without another grant."""
    state = run_.state
    while state[WAKE]:
        wake, state[WAKE] = state[WAKE], 0
        if wake & WAKE_FETCH and _fetch(machine, run_, reads):
            wake |= WAKE_DISPATCH
        if wake & WAKE_DISPATCH:
            _dispatch(machine, run_)
            wake |= state[WAKE]
        for unit in range(UNITS):
            if wake >> unit & 1:
                while _start(machine, run_, reads, stores, unit):
                    state[WAKE] |= WAKE_DISPATCH


@inlined
def _fetch(machine: Machine, run_: Run, reads: Reads) -> bool:
    """Move instructions whose beats have arrived into check; returns whether there was one."""
    state, times = run_.state, run_.times
    count, granted = len(run_.units), reads.clients[FETCH, GRANTED]
    per_beat = max(1, (1 << machine.beat_shift) >> INSTRUCTION_SHIFT)
    beats = max(1, (1 << INSTRUCTION_SHIFT) >> machine.beat_shift)
    slot = (run_.address >> INSTRUCTION_SHIFT) & (per_beat - 1)
    moved = False
    while state[FETCHES] < count:
        at = state[FETCHES]
        free = times[MOVED, at - 1] + 1 if at > 0 else 0
        while state[HALF] < beats - 1:
            beat = at * beats + state[HALF]
            if beat >= granted:
                return moved
            free = max(free, run_.available[beat])
            if state[HALF] > 0:
                free = max(free, reads.used[FETCH, (beat - 1) & (reads.used.shape[1] - 1)] + 1)
            use(reads, FETCH, free)
            state[HALF] += 1
            moved = True
        beat = at * beats + beats - 1 if beats > 1 else (slot + at) // per_beat
        if beat >= granted or at >= state[DISPATCHED] + STAGES:
            return moved
        now = max(free, run_.available[beat])
        if beats > 1:
            now = max(now, reads.used[FETCH, (beat - 1) & (reads.used.shape[1] - 1)] + 1)
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
def _dispatch(machine: Machine, run_: Run) -> None:
    """Dispatch the instructions in check whose queues have space."""
    state, times = run_.state, run_.times
    while state[DISPATCHED] < state[FETCHES]:
        at = state[DISPATCHED]
        unit = run_.units[at]
        behind = run_.ordinal[at] - machine.queue_depth
        space = 0
        if behind >= 0:
            if behind >= state[NEXT + unit]:
                return
            space = times[START, run_.stream[run_.first[unit] + behind]] + 1
        fetched = times[MOVED, at] + STAGES
        if at > 0:
            fetched = max(fetched, times[DISPATCH, at - 1] + 1)
        times[FETCHED, at] = fetched
        times[DISPATCH, at] = max(fetched, space)
        state[DISPATCHED] = at + 1
        state[WAKE] |= 1 << unit | WAKE_FETCH


@inlined
def _start(machine: Machine, run_: Run, reads: Reads, stores: Stores, unit: int) -> bool:
    """Start a unit's next instruction, if its start is known; returns whether it was."""
    state, times = run_.state, run_.times
    number = state[NEXT + unit]
    if run_.first[unit] + number >= run_.first[unit + 1]:
        return False
    at = run_.stream[run_.first[unit] + number]
    if at >= state[DISPATCHED] or (unit != U_STORE and run_.dma[unit, loads.INSTRUCTION] >= 0):
        return False
    row = run_.table[at]
    loops = row[OPCODE] == OP_GEMM or row[OPCODE] == OP_ALU
    now = max(times[DISPATCH, at] + 1, state[LOOPS_AT] if loops else state[READY_AT + unit])
    for side in range(2):
        queue = run_.queues[at, side]
        if queue < QUEUES:
            token = state[POPPED + queue]
            if token >= state[PUSHED + queue]:
                return False
            now = max(now, run_.pushes[queue, token] + 1)
    for side in range(2):
        queue = run_.queues[at, side]
        if queue < QUEUES:
            state[POPPED + queue] += 1
    state[NEXT + unit] = number + 1
    times[START, at] = now
    if loops:
        ended = execute(machine, run_.fields, run_.uops, run_.pipeline, row, now)
        state[LOOPS_AT] = run_.pipeline[ISSUED]
        state[READY_AT + unit] = ended + 1
        _end(run_, at, ended)
    elif unit == U_STORE:
        size = run_.element_bytes[OUT]
        address = run_.bases[OUT] + row[DRAM_BASE] * size
        _end(run_, at, store(machine, stores, row, size, address, row[X_STRIDE] * size, now))
        state[READY_AT + unit] = stores.state[READY]
    elif row[OPCODE] == OP_LOAD and row[X_SIZE] > 0:
        memory = row[MEMORY_TYPE]
        size = run_.element_bytes[memory]
        address = run_.bases[memory] + row[DRAM_BASE] * size
        stride = row[X_STRIDE] * size
        which = LOAD if unit == U_LOAD else COMPUTE
        if memory == UOP:
            _load_uops(run_, at, address)
        request(
            machine, reads.clients[which], now, address, row[X_SIZE] * size, stride, row[Y_SIZE]
        )
        dma = run_.dma[unit]
        dma[loads.INSTRUCTION] = at
        dma[loads.STEP] = stride
        begin(machine, dma, row, size, address, now)
    else:
        state[READY_AT + unit] = now + 2
        if unit == U_COMPUTE:
            state[LOOPS_AT] = now + 2
        _end(run_, at, now + 1)
    return True


@compiled
def _load_uops(run_: Run, at: int, address: int) -> None:
    """Copy the micro-ops of a LOAD to the micro-op memory."""
    row = run_.table[at]
    to = row[SRAM_BASE]
    width = row[X_PAD_0] + row[X_SIZE] + row[X_PAD_1]
    height = row[Y_PAD_0] + row[Y_SIZE] + row[Y_PAD_1]
    run_.uops[to : to + width * height] = 0
    for y in range(row[Y_SIZE]):
        place = to + (row[Y_PAD_0] + y) * width + row[X_PAD_0]
        for x in range(row[X_SIZE]):
            byte = address + 4 * (y * row[X_STRIDE] + x)
            word = 0
            for part in range(4):
                word |= int(run_.words[byte + part]) << 8 * part
            run_.uops[place + x] = word

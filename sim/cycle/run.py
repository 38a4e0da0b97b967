"""The run of a program, from event to event.

Dispatch, start and end of an instruction follow from those of its predecessors, from tokens, and
from the beats of its LOAD. So the run computes all times that are known, as far ahead as they go,
and then grants the earliest burst that a client offers. A burst that is not known yet comes later:
it depends on one that is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hw.jit import cached, compiled, fingerprint, inlined
from sim.cycle import loads
from sim.cycle.cells import borrowed
from sim.cycle.dispatch import INSTRUCTION_SHIFT, dispatch, fetch
from sim.cycle.faults import check_burst
from sim.cycle.machine import Machine
from sim.cycle.pipeline_state import UopMemory
from sim.cycle.reads import (
    ACTIVE,
    BEAT,
    BEATS,
    FETCH,
    GRANTED,
    LOAD,
    NEVER,
    Reads,
    choose,
    grant,
    request,
)
from sim.cycle.state import (
    ENDED,
    FINGERPRINT,
    UNITS,
    WAKE,
    WAKE_DISPATCH,
    WAKE_FETCH,
    WATCH,
    WATCH_BUS,
    Run,
)
from sim.cycle.stores import Stores
from sim.cycle.units import U_COMPUTE, U_LOAD, end_load, start

Runner = Callable[[Machine, Run, Reads, Stores], None]
"""A function that runs a program until every instruction has ended or none can go on."""


@cache
def make_runner() -> Runner:
    """The compiled function, the same for every configuration and memory.

    Its machine code comes from the disk cache unless the source has changed.
    """
    source = fingerprint("hw", "sim.semantics", "sim.cycle")

    @cached
    def run(machine: Machine, program: Run, reads: Reads, stores: Stores) -> None:
        program.state[FINGERPRINT] = source
        _run(machine, _run_cells(program), _read_cells(reads), _store_cells(stores))

    return run


@compiled
def _run(machine: Machine, run: Run, reads: Reads, stores: Stores) -> None:
    """Run to the end; see `Runner`."""
    count = len(run.units)
    run.state[WAKE] = 0
    request(machine, reads.clients[FETCH], 0, run.address, count << INSTRUCTION_SHIFT, 0, 1)
    while run.state[ENDED] < count:
        which, now = choose(machine, reads)
        if now == NEVER:
            return
        _grant(machine, run, reads, which, now)
        while run.state[WAKE]:
            _advance(machine, run, reads, stores)


@inlined
def _grant(machine: Machine, run: Run, reads: Reads, which: int, now: int) -> None:
    """Grant a burst in cycle `now`, and see what its beats do."""
    client = reads.clients[which]
    before, beat, beats = client[GRANTED], client[BEAT], client[BEATS]
    first = grant(machine, reads, which, now)
    instruction = -1
    if which == FETCH:
        for number in range(beats):
            run.available[before + number] = first + number * machine.interval + 1
        run.state[WAKE] |= WAKE_FETCH
    else:
        unit = U_LOAD if which == LOAD else U_COMPUTE
        dma = run.dma[unit]
        instruction = dma[loads.INSTRUCTION]
        row = run.table[instruction]
        loads.take_burst(machine, reads, which, dma, row, dma[loads.STEP], first, beats)
        if not client[ACTIVE]:
            end_load(machine, run, unit)
    if run.state[WATCH] & WATCH_BUS:
        check_burst(machine, run, beat, beats, first, machine.interval, instruction)


@inlined
def _advance(machine: Machine, run: Run, reads: Reads, stores: Stores) -> None:
    """Compute what is known without another grant, of the parts that are awake."""
    state = run.state
    wake, state[WAKE] = state[WAKE], 0
    if wake & WAKE_FETCH and fetch(machine, run, reads):
        wake |= WAKE_DISPATCH
    if wake & WAKE_DISPATCH:
        dispatch(machine, run)
        wake |= state[WAKE]
        state[WAKE] &= WAKE_FETCH
    for unit in range(UNITS):
        if (wake | state[WAKE]) >> unit & 1:
            state[WAKE] &= ~(1 << unit)
            while start(machine, run, reads, stores, unit):
                state[WAKE] |= WAKE_DISPATCH


@inlined
def _run_cells(run: Run) -> Run:
    """`run` in `Cells`."""
    memory = run.memory
    return Run(
        borrowed(run.table),
        borrowed(run.units),
        borrowed(run.faults),
        borrowed(run.queues),
        borrowed(run.stream),
        borrowed(run.first),
        borrowed(run.ordinal),
        run.address,
        borrowed(run.element_bytes),
        borrowed(run.bases),
        borrowed(run.words),
        borrowed(run.word),
        borrowed(run.refused),
        UopMemory(
            borrowed(memory.uop),
            memory.src_shift,
            memory.wgt_shift,
            memory.dst_mask,
            memory.src_mask,
            memory.wgt_mask,
            memory.inp_depth,
            memory.wgt_depth,
            memory.acc_depth,
        ),
        borrowed(run.state),
        borrowed(run.times),
        borrowed(run.available),
        borrowed(run.pushes),
        borrowed(run.dma),
        borrowed(run.pipeline),
        borrowed(run.detail),
    )


@inlined
def _read_cells(reads: Reads) -> Reads:
    """`reads` in `Cells`."""
    return Reads(
        borrowed(reads.clients),
        borrowed(reads.master),
        borrowed(reads.ends),
        borrowed(reads.used),
        reads.ends_mask,
        reads.used_mask,
    )


@inlined
def _store_cells(stores: Stores) -> Stores:
    """`stores` in `Cells`."""
    return Stores(
        borrowed(stores.state),
        borrowed(stores.done),
        borrowed(stores.answered),
        borrowed(stores.taken),
    )

"""The run of a program, from event to event.

Dispatch, start and end of an instruction follow from those of its predecessors, from tokens, and
from the beats of its LOAD. So the run computes all times that are known, as far ahead as they go,
and then grants the earliest burst that a client offers. A burst that is not known yet comes later:
it depends on one that is.
"""

from __future__ import annotations

from tandem.base.jit import compiled, inlined
from tandem.sim.cycle import bus_log, loads
from tandem.sim.cycle.dispatch import INSTRUCTION_SHIFT, dispatch, fetch
from tandem.sim.cycle.faults import check_burst
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.reads import (
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
from tandem.sim.cycle.state import (
    ENDED,
    UNITS,
    WAKE,
    WAKE_DISPATCH,
    WAKE_FETCH,
    WATCH,
    WATCH_BUS,
    WATCH_SILENCE,
    Run,
)
from tandem.sim.cycle.stores import Stores
from tandem.sim.cycle.units import U_COMPUTE, U_LOAD, end_load, start


@compiled
def run_program(machine: Machine, run: Run, reads: Reads, stores: Stores) -> None:
    """Run a program until every instruction has ended or none can go on."""
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
    accepted, first, early = grant(machine, reads, run.silence, which, now)
    # The beats behind a silence follow its end.
    later, more = max(run.silence[2], first), beats - early
    instruction = -1
    if which == FETCH:
        for number in range(early):
            run.available[before + number] = first + number * machine.interval + 1
        for number in range(more):
            run.available[before + early + number] = later + number * machine.interval + 1
        run.state[WAKE] |= WAKE_FETCH
    else:
        unit = U_LOAD if which == LOAD else U_COMPUTE
        dma = run.dma[unit]
        instruction = dma[loads.INSTRUCTION]
        row = run.table[instruction]
        loads.take_burst(machine, reads, which, dma, row, dma[loads.STEP], first, early)
        if more > 0:
            loads.take_burst(machine, reads, which, dma, row, dma[loads.STEP], later, more)
        if not client[ACTIVE]:
            end_load(machine, run, unit)
    if run.state[WATCH] & WATCH_BUS:
        check_burst(machine, run, beat, early, first, machine.interval, instruction)
        if more > 0:
            check_burst(machine, run, beat + early, more, later, machine.interval, instruction)
    if run.state[WATCH] & WATCH_SILENCE:
        burst = run.bus.reads[run.bus.counts[0]]
        burst[bus_log.GRANTED] = now
        burst[bus_log.ACCEPTED] = accepted
        burst[bus_log.FIRST] = first
        burst[bus_log.BEATS] = early
        burst[bus_log.LATER] = later
        burst[bus_log.MORE] = more
        burst[bus_log.INSTRUCTION] = instruction
        burst[bus_log.ADDRESS] = beat
        run.bus.counts[0] += 1


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

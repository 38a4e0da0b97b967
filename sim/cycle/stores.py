"""The store unit: reading OUT, addresses, data and acknowledgements (rules 7 and 8).

Nothing else is written, and reads and writes are independent in memory: all times of a STORE follow
from its start and from the STOREs before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled, inlined
from tandem.hw.isa.columns import DRAM_BASE, X_SIZE, X_STRIDE, Y_SIZE, InstructionFields
from tandem.hw.timing import OUT_QUEUE_BEATS
from tandem.hw.topology import MemoryId
from tandem.sim.cycle import bus_log
from tandem.sim.cycle.faults import check_burst
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.reads import ring
from tandem.sim.cycle.silence import AW, B, W, after_silence
from tandem.sim.cycle.state import WATCH, WATCH_BUS, WATCH_SILENCE, Run

Ints = npt.NDArray[np.int64]

# The state of the store unit, indexed by these constants.
ORDERS = 0
"""Orders taken."""
WRITES = 1
"""Bursts taken."""
ACCEPTED = 2
"""The cycle in which memory accepted the last address."""
DONE = 3
"""The cycle in which the last order ended."""
ANSWERED = 4
"""The cycle of the last acknowledgement."""
READ = 5
"""The cycle in which OUT was last read."""
TAKEN = 6
"""The cycle in which memory took the last beat."""
BEATS = 7
"""Beats that memory took."""
MOVING = 8
"""Cycles in which a STORE starts or a beat moves."""
READY = 9
"""The cycle from which the next STORE can start."""
FIELDS = 10

OUT = int(MemoryId.OUT)
QUEUE = OUT_QUEUE_BEATS
RECENT = 8
"""Beats whose cycles are kept: more than can be on their way from OUT to memory."""


class Stores(NamedTuple):
    """The store unit's state."""

    state: Ints
    done: Ints
    """The cycle in which order n ended, at n modulo the length."""
    answered: Ints
    """The cycle in which burst n was acknowledged, at n modulo the length."""
    taken: Ints
    """The cycle in which memory took beat n, at n modulo `RECENT`."""


def make_stores(machine: Machine) -> Stores:
    """The state at launch."""
    state = np.zeros(FIELDS, np.int64)
    state[[ACCEPTED, DONE, ANSWERED, READ, TAKEN]] = -(1 << 60)
    slots = ring(machine.writes_in_flight)
    taken = np.full(RECENT, -(1 << 60), np.int64)
    return Stores(state, np.zeros(slots, np.int64), np.zeros(slots, np.int64), taken)


@inlined
def order(machine: Machine, stores: Stores, earliest: int) -> int:
    """Take an order, not before cycle `earliest`; returns the cycle."""
    state, slots = stores.state, machine.writes_in_flight
    now, number = earliest, state[ORDERS]
    if number >= slots:
        now = max(now, stores.done[(number - slots) & (len(stores.done) - 1)] + 1)
    return int(now)


@inlined
def finish(machine: Machine, stores: Stores, earliest: int) -> int:
    """End the order taken last, not before cycle `earliest`; returns the cycle."""
    state = stores.state
    state[DONE] = max(state[DONE] + 1, earliest)
    stores.done[state[ORDERS] & (len(stores.done) - 1)] = state[DONE]
    state[ORDERS] += 1
    return int(state[DONE])


@inlined
def _log(
    run: Run, taken: int, issued: int, answer: int, done: int, instruction: int, beat: int
) -> None:
    """Keep what happened to an order."""
    row = run.bus.writes[run.bus.counts[1]]
    row[bus_log.TAKEN] = taken
    row[bus_log.ISSUED] = issued
    row[bus_log.ANSWERED] = answer
    row[bus_log.DONE] = done
    row[bus_log.ORDERED_BY] = instruction
    row[bus_log.PLACE] = beat
    run.bus.counts[1] += 1


@compiled
def store(
    machine: Machine,
    run: Run,
    stores: Stores,
    row: InstructionFields,
    instruction: int,
    start: int,
) -> int:
    """Execute a STORE that starts in cycle `start`; returns the cycle of its end."""
    size = run.element_bytes[OUT, 0]
    address = run.bases[OUT] + row[DRAM_BASE] * size
    stride = row[X_STRIDE] * size
    state = stores.state
    moving = 1
    for number in range(RECENT):
        if stores.taken[number] == start:
            moving = 0
    state[MOVING] += moving
    if row[X_SIZE] == 0:
        taken = order(machine, stores, start + 1)
        state[READY] = taken + 1
        ended = finish(machine, stores, taken + 1)
        if run.state[WATCH] & WATCH_SILENCE:
            _log(run, taken, -1, -1, ended, instruction, -1)
        return ended
    bytes_of_beat = 1 << machine.beat_shift
    offered = start + 2
    state[READ] = start
    at = address & machine.address_mask
    ended = start
    for _ in range(row[Y_SIZE]):
        beat = at >> machine.beat_shift
        rest = ((at + row[X_SIZE] * size - 1) >> machine.beat_shift) - beat + 1
        place, columns = at & (bytes_of_beat - 1), row[X_SIZE]
        while rest > 0:
            in_page = beat & (machine.page_beats - 1)
            beats = min(rest, machine.longest, machine.page_beats - in_page)
            # The address.
            taken = order(machine, stores, max(offered, state[ACCEPTED]))
            offered = taken + 1
            accepted, writes = taken + 1, state[WRITES]
            slots = machine.writes_in_flight
            if writes >= machine.in_flight and machine.in_flight <= slots:
                answered = stores.answered[
                    (writes - machine.in_flight) & (len(stores.answered) - 1)
                ]
                accepted = max(accepted, answered + 1)
            accepted = after_silence(run.silence, AW, accepted)
            state[ACCEPTED] = accepted
            # The data.
            first = max(taken + 2, accepted + 1)
            for _ in range(beats):
                here = 1
                if size < bytes_of_beat:
                    here = min((bytes_of_beat - place) // size, columns)
                    columns -= here
                    place = 0
                number = state[BEATS]
                read = state[READ] + 1
                if number >= QUEUE:
                    read = max(read, stores.taken[(number - QUEUE) % RECENT] + 1)
                state[READ] = read + here - 1
                moved = max(state[TAKEN] + machine.interval, state[READ] + 2, first)
                state[TAKEN] = after_silence(run.silence, W, moved)
                stores.taken[number % RECENT] = state[TAKEN]
                if run.state[WATCH] & WATCH_SILENCE:
                    run.bus.beats[number] = state[TAKEN]
                state[BEATS] = number + 1
            state[MOVING] += beats
            # The acknowledgement.
            reply = max(state[TAKEN] + machine.latency, state[ANSWERED] + 1)
            state[ANSWERED] = after_silence(run.silence, B, reply)
            stores.answered[writes & (len(stores.answered) - 1)] = state[ANSWERED]
            state[WRITES] = writes + 1
            ended = finish(machine, stores, max(state[ANSWERED] + 1, taken + 1))
            if run.state[WATCH] & WATCH_BUS:
                check_burst(machine, run, beat, beats, ended, 0, instruction)
            if run.state[WATCH] & WATCH_SILENCE:
                _log(run, taken, accepted, state[ANSWERED], ended, instruction, beat)
            rest -= beats
            beat += beats
        at = (at + stride) & machine.address_mask
    state[READY] = max(offered, state[READ] + 1)
    return ended

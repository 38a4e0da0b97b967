"""The read master: bursts, credits, arbitration, and memory's answers (rules 1 and 2)."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel
from tandem.sim.cycle.machine import Machine, make_machine
from tandem.sim.cycle.reads import (
    ACTIVE,
    BEATS,
    COMPUTE,
    FETCH,
    LOAD,
    NEVER,
    Reads,
    choose,
    grant,
    make_reads,
    offer,
    request,
    ring,
    use,
)
from tandem.sim.cycle.silence import make_silence
from tandem.sim.engine import Channel, Silence

CONFIG = load_config("tiny")
BYTES = CONFIG.bus_bytes


def granted(machine: Machine, reads: Reads, which: int, now: int) -> int:
    """The first beat of a burst that is granted, of a memory that is never silent."""
    _, first, _ = grant(machine, reads, make_silence(None), which, now)
    return first


def machine_of(memory: MemoryModel, **changes: int) -> Machine:
    return make_machine(CONFIG.replace(name="changed", **changes), memory)


def bursts(machine: Machine, address: int, size: int, stride: int, rows: int) -> list[int]:
    """The beats of a job's bursts, every one used at once."""
    reads, found = make_reads(machine), []
    request(machine, reads.clients[LOAD], 0, address, size, stride, rows)
    while reads.clients[LOAD, ACTIVE]:
        which, now = choose(machine, reads)
        assert which == LOAD
        beats = int(reads.clients[LOAD, BEATS])
        first = granted(machine, reads, LOAD, now)
        for beat in range(beats):
            use(reads, LOAD, first + 1 + beat)
        found.append(beats)
    return found


def test_bursts_end_with_rows_pages_and_the_longest() -> None:
    machine = machine_of(MemoryModel(1, 1, 16))
    longest = CONFIG.longest_burst
    assert bursts(machine, 0, BYTES, 0, 1) == [1]
    # A row that begins and ends within beats, and one that crosses 4 KiB.
    assert bursts(machine, BYTES - 1, 2, 0, 1) == [2]
    assert bursts(machine, 4096 - BYTES, 3 * BYTES, 0, 1) == [1, 2]
    assert bursts(machine, 0, (longest + 1) * BYTES, 0, 1) == [longest, 1]
    assert bursts(machine, 0, 2 * BYTES, 64, 3) == [2, 2, 2]


def test_the_highest_priority_of_those_that_offer_is_granted() -> None:
    machine = machine_of(MemoryModel(1, 1, 16))
    reads = make_reads(machine)
    request(machine, reads.clients[LOAD], 0, 0, BYTES, 0, 1)
    request(machine, reads.clients[COMPUTE], 1, 0, BYTES, 0, 1)
    request(machine, reads.clients[FETCH], 1, 0, BYTES, 0, 1)
    assert choose(machine, reads) == (LOAD, 2)
    granted(machine, reads, LOAD, 2)
    assert choose(machine, reads) == (FETCH, 3)
    granted(machine, reads, FETCH, 3)
    assert choose(machine, reads) == (COMPUTE, 4)
    granted(machine, reads, COMPUTE, 4)
    assert choose(machine, reads) == (-1, NEVER)


def test_beats_keep_their_distance_from_all_beats_before() -> None:
    machine = machine_of(MemoryModel(10, 3, 16))
    reads: Reads = make_reads(machine)
    request(machine, reads.clients[LOAD], 0, 0, 2 * BYTES, 0, 1)
    request(machine, reads.clients[COMPUTE], 0, 0, BYTES, 0, 1)
    assert granted(machine, reads, COMPUTE, 2) == 13
    assert granted(machine, reads, LOAD, 3) == 16
    assert int(reads.master[2]) == 19


@pytest.mark.parametrize("slots", [1, 2])
def test_memory_holds_bursts_until_their_last_beat(slots: int) -> None:
    machine = machine_of(MemoryModel(10, 1, slots))
    reads = make_reads(machine)
    request(machine, reads.clients[LOAD], 0, 0, BYTES, 4096, 3)
    firsts = [granted(machine, reads, LOAD, now) for now in (2, 3, 4)]
    # Accepted the cycle after the grant, or after the last beat of the burst that was in the way.
    assert firsts == ([13, 24, 35] if slots == 1 else [13, 14, 24])


def test_the_master_waits_for_bursts_in_flight() -> None:
    machine = machine_of(MemoryModel(50, 1, 300), reads_in_flight=2)
    reads = make_reads(machine)
    request(machine, reads.clients[LOAD], 0, 0, BYTES, 4096, 3)
    firsts = []
    for _ in range(3):
        which, now = choose(machine, reads)
        firsts.append((now, granted(machine, reads, which, now)))
    assert firsts == [(2, 53), (3, 54), (54, 105)]


def test_a_burst_waits_for_places_in_its_buffer() -> None:
    machine = machine_of(MemoryModel(1, 1, 16), load_buffer=CONFIG.longest_burst)
    reads, longest = make_reads(machine), CONFIG.longest_burst
    request(machine, reads.clients[LOAD], 0, 0, (longest + 2) * BYTES, 0, 1)
    granted(machine, reads, LOAD, 2)
    assert offer(reads, LOAD) == NEVER
    use(reads, LOAD, 40)
    assert offer(reads, LOAD) == NEVER
    use(reads, LOAD, 41)
    assert offer(reads, LOAD) == 42


def test_rings_are_powers_of_two() -> None:
    assert [ring(entries) for entries in (1, 2, 3, 4, 5, 300)] == [1, 2, 4, 4, 8, 512]


def test_addresses_and_beats_wait_for_the_end_of_a_silence() -> None:
    machine = machine_of(MemoryModel(10, 2, 16))
    reads = make_reads(machine)
    request(machine, reads.clients[LOAD], 0, 0, 4 * BYTES, 4096, 3)
    # Nothing is heard in [3, 5): the address is accepted in 5.
    late = make_silence(Silence(Channel.AR, 3, 2))
    assert grant(machine, reads, late, LOAD, 2) == (5, 15, 4)
    # Its beats are at 15, 17, 19, 21; those of the next at 23 and, behind a silence, from 40 on.
    between = make_silence(Silence(Channel.R, 24, 16))
    assert grant(machine, reads, between, LOAD, 5) == (6, 23, 1)
    assert int(reads.master[2]) == 44
    # A silence that has begun before its first beat.
    before = make_silence(Silence(Channel.R, 45, 5))
    assert grant(machine, reads, before, LOAD, 6) == (7, 50, 4)

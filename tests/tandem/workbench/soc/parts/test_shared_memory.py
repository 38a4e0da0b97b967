"""The memory of a system against `hw.memory_model`'s words: data, order, times and errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import pytest

pytest.importorskip("litex", reason="the extra soc")

from litex.gen.sim import run_simulation

from tandem.workbench.errors import SocError
from tandem.workbench.soc.parts.shared_memory import SharedMemory

ORIGIN, BYTES, BEAT, ID_BITS = 0x4000_0000, 1 << 10, 8, 2


@dataclass(slots=True)
class Burst:
    """A burst, and when it was accepted and answered."""

    address: int
    beats: int
    identity: int
    data: list[int] = field(default_factory=list)
    accepted: int = -1
    answers: list[tuple[int, int, int]] = field(default_factory=list)
    """Cycle, response and data of the beats, or of the acknowledgement."""


def bursts(random: Random, count: int, *, outside: bool = False, bytes: int = BYTES) -> list[Burst]:
    found = []
    for number in range(count):
        beats = random.randint(1, 8)
        address = ORIGIN + BEAT * random.randrange(bytes // BEAT - beats + 1)
        if outside and number % 3 == 2:
            address = ORIGIN + bytes + BEAT * random.randrange(16)
        data = [random.getrandbits(64) for _ in range(beats)]
        found.append(Burst(address, beats, random.randrange(1 << ID_BITS), data))
    return found


def memory(latency: int, in_flight: int, bytes: int = BYTES) -> SharedMemory:
    return SharedMemory(ORIGIN, bytes, 8 * BEAT, ID_BITS, latency, in_flight)


class Clock:
    """Counts cycles, for all other processes of a simulation."""

    now = 0

    def process(self, cycles: int) -> Iterator[Any]:
        for self.now in range(cycles):
            yield


def reader(bus: Any, clock: Clock, wanted: list[Burst], pause: float, seed: int) -> Iterator[Any]:
    """Sends addresses and takes beats, now and then not."""
    random = Random(f"reader {seed}")
    sent = done = beats = 0
    while done < len(wanted):
        if sent < len(wanted):
            burst = wanted[sent]
            yield bus.ar.valid.eq(1)
            yield bus.ar.addr.eq(burst.address)
            yield bus.ar.len.eq(burst.beats - 1)
            yield bus.ar.id.eq(burst.identity)
        else:
            yield bus.ar.valid.eq(0)
        yield bus.r.ready.eq(random.random() >= pause)
        yield
        if (yield bus.ar.valid) and (yield bus.ar.ready):
            wanted[sent].accepted = clock.now
            sent += 1
        if (yield bus.r.valid) and (yield bus.r.ready):
            burst = wanted[done]
            assert (yield bus.r.id) == burst.identity
            burst.answers.append((clock.now, (yield bus.r.resp), (yield bus.r.data)))
            beats += 1
            assert (yield bus.r.last) == (beats == burst.beats)
            if beats == burst.beats:
                done, beats = done + 1, 0
    yield bus.ar.valid.eq(0)


def writer(bus: Any, clock: Clock, wanted: list[Burst]) -> Iterator[Any]:
    """Sends addresses and data, and takes acknowledgements."""
    beats = [(data, number) for number, burst in enumerate(wanted) for data in burst.data]
    last = [number == len(burst.data) - 1 for burst in wanted for number in range(burst.beats)]
    sent = written = done = 0
    yield bus.b.ready.eq(1)
    while done < len(wanted):
        yield bus.aw.valid.eq(sent < len(wanted))
        if sent < len(wanted):
            yield bus.aw.addr.eq(wanted[sent].address)
            yield bus.aw.len.eq(wanted[sent].beats - 1)
            yield bus.aw.id.eq(wanted[sent].identity)
        yield bus.w.valid.eq(written < len(beats))
        if written < len(beats):
            yield bus.w.data.eq(beats[written][0])
            yield bus.w.strb.eq((1 << len(bus.w.strb)) - 1)
            yield bus.w.last.eq(last[written])
        yield
        if (yield bus.aw.valid) and (yield bus.aw.ready):
            sent += 1
        if (yield bus.w.valid) and (yield bus.w.ready):
            wanted[beats[written][1]].accepted = clock.now
            written += 1
        if (yield bus.b.valid):
            assert (yield bus.b.id) == wanted[done].identity
            wanted[done].answers.append((clock.now, (yield bus.b.resp), 0))
            done += 1
    yield bus.aw.valid.eq(0)
    yield bus.w.valid.eq(0)


def words(bus: Any, accesses: list[tuple[int, int | None]], found: list[int]) -> Iterator[Any]:
    """A processor's reads (None) and writes of words, one after the other."""
    for index, value in accesses:
        yield bus.cyc.eq(1)
        yield bus.stb.eq(1)
        yield bus.we.eq(value is not None)
        yield bus.sel.eq(0xF)
        yield bus.adr.eq(ORIGIN // 4 + index)
        yield bus.dat_w.eq(value or 0)
        yield
        while not (yield bus.ack):
            yield
        if value is None:
            found.append((yield bus.dat_r))
        yield bus.cyc.eq(0)
        yield bus.stb.eq(0)
        yield


@pytest.mark.parametrize(
    ("latency", "in_flight", "pause", "bytes"),
    [(5, 4, 0.0, BYTES), (9, 2, 0.0, BYTES), (5, 4, 0.4, BYTES), (5, 4, 0.0, 5 * BYTES // 8)],
)
def test_reads_and_writes(latency: int, in_flight: int, pause: float, bytes: int) -> None:
    """The last memory ends where no power of two does."""
    random = Random(f"shared memory {latency} {in_flight}")
    dut, clock = memory(latency, in_flight, bytes), Clock()
    writes = bursts(random, 12, outside=True, bytes=bytes)
    reads = bursts(random, 12, outside=True, bytes=bytes)
    content = [0] * (bytes // BEAT)

    def all_of_it() -> Iterator[Any]:
        yield from writer(dut.axi, clock, writes)
        yield from reader(dut.axi, clock, reads, pause, latency)

    run_simulation(dut, [clock.process(600), all_of_it()])
    for burst in writes:
        inside = burst.address < ORIGIN + bytes
        assert [answer[1] for answer in burst.answers] == [0 if inside else 3]
        assert burst.answers[0][0] >= burst.accepted + latency
        for number, data in enumerate(burst.data):
            if inside:
                content[(burst.address - ORIGIN) // BEAT + number] = data
    before = 0
    for burst in reads:
        inside = burst.address < ORIGIN + bytes
        begin = (burst.address - ORIGIN) // BEAT
        assert [answer[1] for answer in burst.answers] == [0 if inside else 3] * burst.beats
        if inside:
            assert [answer[2] for answer in burst.answers] == content[begin : begin + burst.beats]
        if not pause:
            # The first beat after the latency or behind the burst before, the others one a cycle.
            first = max(burst.accepted + latency, before + 1)
            assert [answer[0] for answer in burst.answers] == [*range(first, first + burst.beats)]
        before = burst.answers[-1][0]


def test_a_latency_that_is_too_short_is_refused() -> None:
    with pytest.raises(SocError, match="shared memory of latency 4: memory on chip has 5 or more"):
        memory(4, 4)


def test_the_processor_sees_the_same_bytes() -> None:
    random = Random("processor")
    dut, clock = memory(5, 4), Clock()
    values = [random.getrandbits(32) for _ in range(16)]
    found: list[int] = []
    reads = [Burst(ORIGIN, 8, 1)]
    other = [Burst(ORIGIN + 256, 8, 1) for _ in range(20)]

    def all_of_it() -> Iterator[Any]:
        yield from words(dut.bus, list(enumerate(values)), found)
        yield from reader(dut.axi, clock, reads, 0, 0)

    def processor() -> Iterator[Any]:
        yield from all_of_it()
        # While the accelerator reads without a pause, the processor gets its cycles, too.
        yield from words(dut.bus, [(index, None) for index in range(16)], found)

    def traffic() -> Iterator[Any]:
        while clock.now < 120:
            yield
        yield from reader(dut.axi, clock, other, 0, 0)

    run_simulation(dut, [clock.process(900), processor(), traffic()])
    assert [answer[2] for answer in reads[0].answers] == [
        values[2 * number] | values[2 * number + 1] << 32 for number in range(8)
    ]
    assert found == values
    assert all(len(burst.answers) == 8 for burst in other)


def burst_of_words(
    bus: Any, clock: Clock, count: int, found: list[int], cycles: list[int], cti: int = 2
) -> Iterator[Any]:
    """A processor's burst from word 0 on, which says with its last word that it ends."""
    yield bus.cyc.eq(1)
    yield bus.stb.eq(1)
    yield bus.we.eq(0)
    for index in range(count):
        yield bus.adr.eq(ORIGIN // 4 + index)
        yield bus.cti.eq(cti if index < count - 1 else 7)
        yield
        while not (yield bus.ack):
            yield
        found.append((yield bus.dat_r))
        cycles.append(clock.now)
    yield bus.cyc.eq(0)
    yield bus.stb.eq(0)
    yield


@pytest.mark.parametrize("width", [32, 64, 128])
def test_a_burst_takes_a_word_a_cycle(width: int) -> None:
    random = Random(f"burst {width}")
    dut = SharedMemory(ORIGIN, BYTES, width, ID_BITS, 5, 4)
    clock, cycles = Clock(), list[int]()
    values = [random.getrandbits(32) for _ in range(16)]
    found: list[int] = []
    alone: list[int] = []

    def processor() -> Iterator[Any]:
        yield from words(dut.bus, list(enumerate(values)), found)
        # The last word of a beat and the first of the next one, with a new access between.
        for count in (16, 5, 1):
            yield from burst_of_words(dut.bus, clock, count, found, cycles)
        # Bursts that end with every word.
        yield from burst_of_words(dut.bus, clock, 8, alone, [], cti=0)

    run_simulation(dut, [clock.process(600), processor()])
    assert found == [*values, *values[:5], values[0]]
    assert alone == values[:8]
    assert [after - before for before, after in pairwise(cycles[:16])] == [1] * 15


@pytest.mark.every(3)
@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_bursts_between_all_other_accesses(width: int, pause: float) -> None:
    """A processor that writes words and reads bursts, now and then with a pause, from any word of a
    beat on, while the accelerator reads and writes what lies behind."""
    random = Random(f"all {width} {pause}")
    dut = SharedMemory(ORIGIN, BYTES, width, ID_BITS, 5, 4)
    clock, beat = Clock(), width // 8
    content = [0] * 32
    own = [random.getrandbits(width) for _ in range(8)]
    other = [Burst(ORIGIN + 256 + 8 * beat * n, 8, 1, own) for n in range(2)]
    read = [Burst(ORIGIN + 256, 8, 1) for _ in range(15)]
    wrong: list[tuple[int, int]] = []

    def processor() -> Iterator[Any]:
        for _ in range(20):
            written: list[tuple[int, int | None]] = [
                (random.randrange(32), random.getrandbits(32)) for _ in range(random.randrange(3))
            ]
            yield from words(dut.bus, written, [])
            for index, value in written:
                content[index] = value or 0
            first = random.randrange(31)
            count = random.randint(1, 32 - first)
            yield dut.bus.cyc.eq(1)
            yield dut.bus.we.eq(0)
            for index in range(first, first + count):
                yield dut.bus.adr.eq(ORIGIN // 4 + index)
                yield dut.bus.cti.eq(2 if index < first + count - 1 else 7)
                while random.random() < pause:
                    yield dut.bus.stb.eq(0)
                    yield
                yield dut.bus.stb.eq(1)
                yield
                while not (yield dut.bus.ack):
                    yield
                if (yield dut.bus.dat_r) != content[index]:
                    wrong.append((clock.now, index))
            yield dut.bus.cyc.eq(0)
            yield dut.bus.stb.eq(0)
            yield dut.bus.cti.eq(0)
            if random.random() < 0.5:
                yield

    def accelerator() -> Iterator[Any]:
        yield from writer(dut.axi, clock, other)
        yield from reader(dut.axi, clock, read, pause, 1)

    run_simulation(dut, [clock.process(1500), processor(), accelerator()])
    assert wrong == []
    assert all([answer[2] for answer in burst.answers] == own for burst in read)

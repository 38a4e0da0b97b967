"""Programs of every length and place, over buses narrower and wider than an instruction."""

from __future__ import annotations

import random

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.rtl.instruction_reader import InstructionReader
from tandem.hw.timing import FETCH_BURST
from tests.support.hw.rtl.rtl import (
    Context,
    Sink,
    built,
    cycle,
    cycles,
    has,
    random_bytes,
    simulate,
)
from tests.support.hw.rtl.rtl_bus import PortMemory

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

BUSES = (64, 128, 256, 512)
PROGRAM = 4096 - 5 * INSTRUCTION_BYTES
"""Where most programs lie: across a page."""


def read_program(
    config: HardwareConfig, address: int, count: int, seed: int, chance: float
) -> tuple[PortMemory, Sink]:
    """Read it, compare every word, and give what the bus and the consumer saw."""
    rng = random.Random(seed)
    content = random_bytes(rng, 8192)
    reader = built(InstructionReader, config)
    seen = []

    async def bench(ctx: Context) -> None:
        memory = PortMemory(
            config,
            reader.port,
            content,
            rng,
            chance=chance,
            latency=range(2, 10),
            pause=(1 - chance) / 2,
        )
        sink = Sink(reader.instruction, rng, chance)
        ctx.set(reader.start, 1)
        ctx.set(reader.address, address)
        ctx.set(reader.count, count)
        await cycle(ctx, memory, sink)
        ctx.set(reader.start, 0)
        await cycles(ctx, memory, sink, until=has(sink.received, count))
        await cycle(ctx, memory, sink, count=20)
        words = [
            int.from_bytes(content[at : at + INSTRUCTION_BYTES], "little")
            for at in range(address, address + count * INSTRUCTION_BYTES, INSTRUCTION_BYTES)
        ]
        assert sink.received == words
        seen.append((memory, sink))

    simulate(reader, bench)
    return seen[0]


@pytest.mark.parametrize("bus_bits", BUSES)
@pytest.mark.parametrize("slot", range(4))
def test_every_alignment_of_an_instruction(bus_bits: int, slot: int) -> None:
    config = HardwareConfig(bus_bits=bus_bits, fetch_buffer=16)
    for count in (1, 2, 3, 4, 5, 8, 13):
        read_program(config, 256 + slot * INSTRUCTION_BYTES, count, count, 0.7)


@pytest.mark.parametrize("bus_bits", BUSES)
@pytest.mark.parametrize("fetch_buffer", [8, 32])
def test_lengths_across_a_page(bus_bits: int, fetch_buffer: int) -> None:
    config = HardwareConfig(bus_bits=bus_bits, fetch_buffer=fetch_buffer)
    for count in (6, 7, 33, 100):
        read_program(config, PROGRAM, count, count, 0.5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("bus_bits", BUSES)
@pytest.mark.parametrize("slot", range(4))
def test_all_lengths(bus_bits: int, slot: int) -> None:
    config = HardwareConfig(bus_bits=bus_bits, fetch_buffer=8)
    for count in range(1, 101):
        read_program(config, 512 + slot * INSTRUCTION_BYTES, count, count, 0.7)


@pytest.mark.parametrize("bus_bits", BUSES)
def test_a_burst_asks_for_eight_instructions_at_most(bus_bits: int) -> None:
    config = HardwareConfig(bus_bits=bus_bits)
    memory, _ = read_program(config, 4096, 40, 0, 1.0)
    longest = min(FETCH_BURST * INSTRUCTION_BYTES // config.bus_bytes, config.longest_burst)
    assert [beats for _, beats in memory.bursts] == [longest] * 5
    short = config.replace(longest_burst=1)
    memory, _ = read_program(short, 4096, 8, 0, 1.0)
    assert {beats for _, beats in memory.bursts} == {1}
    memory, _ = read_program(config, 4096, 1, 0, 1.0)
    assert memory.bursts == [(4096, max(1, INSTRUCTION_BYTES // config.bus_bytes))]


@pytest.mark.parametrize("bus_bits", BUSES)
def test_a_word_is_there_a_cycle_after_its_last_beat(bus_bits: int) -> None:
    config = HardwareConfig(bus_bits=bus_bits)
    memory, sink = read_program(config, 4096, 48, 1, 1.0)
    bytes_a_beat = config.bus_bytes
    expected = []
    last = -1
    for number in range(48):
        beat = ((number + 1) * INSTRUCTION_BYTES - 1) // bytes_a_beat
        last = max(memory.arrivals[beat] + 1, last + 1)
        expected.append(last)
    assert sink.times == expected


def test_a_new_start_reads_a_new_program() -> None:
    config = HardwareConfig(bus_bits=512)
    rng = random.Random(2)
    content = random_bytes(rng, 4096)
    reader = built(InstructionReader, config)

    async def bench(ctx: Context) -> None:
        memory = PortMemory(config, reader.port, content, rng)
        sink = Sink(reader.instruction, rng)
        wanted = []
        for address, count in ((16, 2), (48, 5), (0, 4), (112, 1)):
            place = range(address, address + 16 * count, 16)
            wanted += [int.from_bytes(content[at : at + 16], "little") for at in place]
            ctx.set(reader.start, 1)
            ctx.set(reader.address, address)
            ctx.set(reader.count, count)
            await cycle(ctx, memory, sink)
            ctx.set(reader.start, 0)
            total = len(wanted)
            await cycles(ctx, memory, sink, until=has(sink.received, total))
        assert sink.received == wanted

    simulate(reader, bench)

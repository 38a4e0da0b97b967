"""Beats come in order, and are requested only when the buffer has space for them."""

from __future__ import annotations

import random

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.layouts import rows_layout
from tandem.hw.rtl.read_stream import ReadStream
from tests.support.hw.rtl.rtl import (
    Context,
    Sink,
    Watch,
    cycle,
    cycles,
    has,
    only_built,
    random_bytes,
    seeds,
    simulate,
)
from tests.support.hw.rtl.rtl_bus import PortMemory

SIZE_BITS = 20
MEMORY_BYTES = 1 << 14

Job = tuple[int, int, int, int]
"""Address, size of a row and stride in bytes, and rows."""


def beats_of(job: Job, bus: int) -> list[int]:
    """The addresses of the beats that a job brings."""
    address, size, stride, rows = job
    return [
        beat
        for row in range(rows)
        for beat in range((address + row * stride) // bus * bus, address + row * stride + size, bus)
    ]


def run_jobs(
    config: HardwareConfig, depth: int, longest: int, jobs: list[Job], seed: int, chances: float
) -> None:
    """Compare the beats; check in every cycle that the buffer has space for the bursts
    that are requested."""
    rng = random.Random(seed)
    content = random_bytes(rng, MEMORY_BYTES)
    stream = ReadStream(config, depth=depth, longest=longest, size_bits=SIZE_BITS)
    names = rows_layout(config.address_bits, SIZE_BITS).members
    bus = config.bus_bytes

    async def bench(ctx: Context) -> None:
        memory = PortMemory(
            config,
            stream.port,
            content,
            rng,
            chance=chances,
            latency=range(1, 12),
            pause=1 - chances,
        )
        sink = Sink(stream.beat, rng, chances)
        most = 0

        def look(ctx: Context) -> None:
            nonlocal most
            asked = sum(beats for _, beats in memory.bursts)
            most = max(most, asked - len(sink.received))

        wanted = []
        for job in jobs:
            wanted += [
                int.from_bytes(content[beat : beat + bus], "little") for beat in beats_of(job, bus)
            ]
            ctx.set(stream.start, 1)
            ctx.set(stream.rows, dict(zip(names, job, strict=True)))
            await cycle(ctx, memory, sink, Watch(look))
            ctx.set(stream.start, 0)
            await cycles(ctx, memory, sink, Watch(look), until=has(sink.received, len(wanted)))
        assert sink.received == wanted
        assert most <= depth
        arrived = memory.arrivals
        assert all(used > came for used, came in zip(sink.times, arrived, strict=True))

    simulate(stream, bench)


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("chances", [1.0, 0.5])
@pytest.mark.parametrize(("bus_bits", "depth", "longest"), [(64, 4, 4), (128, 16, 8), (512, 2, 1)])
def test_every_beat_in_order(
    bus_bits: int, depth: int, longest: int, chances: float, seed: int
) -> None:
    rng = random.Random(seed)
    bus = bus_bits // 8
    jobs = []
    for _ in range(5):
        size, rows = rng.randint(1, 9 * bus), rng.randint(1, 4)
        jobs.append((rng.randrange(MEMORY_BYTES // 2), size, rng.randint(0, 10 * bus), rows))
    run_jobs(HardwareConfig(bus_bits=bus_bits), depth, longest, jobs, seed, chances)


def test_asks_for_nothing_without_room() -> None:
    config = HardwareConfig()
    stream = ReadStream(config, depth=16, longest=8, size_bits=SIZE_BITS)
    content = bytes(range(256)) * 8

    async def bench(ctx: Context) -> None:
        rng = random.Random(1)
        memory = PortMemory(config, stream.port, content, rng, latency=range(1, 2))
        sink = Sink(stream.beat, rng, 0.0)
        ctx.set(stream.start, 1)
        ctx.set(stream.rows, {"address": 0, "size": 37 * 8, "stride": 0, "rows": 1})
        await cycle(ctx, memory, sink)
        ctx.set(stream.start, 0)
        await cycle(ctx, memory, sink, count=60)
        assert memory.bursts == [(0, 8), (64, 8)]
        assert len(memory.arrivals) == 16
        # One beat is used: there is space for one, and a burst of eight is not requested.
        for used in range(1, 8):
            sink.chance = 1.0
            await cycles(ctx, memory, sink, until=has(sink.received, used))
            sink.chance = 0.0
            await cycle(ctx, memory, sink, count=5)
            assert len(memory.bursts) == 2
        sink.chance = 1.0
        await cycles(ctx, memory, sink, until=has(sink.received, 37))
        assert memory.bursts[2:] == [(128, 8), (192, 8), (256, 5)]

    simulate(stream, bench)


def test_a_beat_is_there_a_cycle_after_it_arrived() -> None:
    config = HardwareConfig()
    stream = ReadStream(config, depth=64, longest=16, size_bits=SIZE_BITS)

    async def bench(ctx: Context) -> None:
        rng = random.Random(3)
        memory = PortMemory(config, stream.port, bytes(4096), rng, latency=range(5, 6), pause=0.3)
        sink = Sink(stream.beat, rng)
        ctx.set(stream.start, 1)
        ctx.set(stream.rows, {"address": 8, "size": 800, "stride": 0, "rows": 1})
        await cycle(ctx, memory, sink)
        ctx.set(stream.start, 0)
        await cycles(ctx, memory, sink, until=has(sink.received, 100))
        assert memory.times[:4] == [2, 3, 4, 5]
        assert sink.times == [time + 1 for time in memory.arrivals]

    simulate(stream, bench)


def test_names_tell_shapes_apart() -> None:
    stream = ReadStream(HardwareConfig(), depth=8, longest=4, size_bits=20)
    assert only_built(stream).variant() == "8x4x20"

"""The burst generator against a function of address and length."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.rtl.bursts import BurstGenerator
from tandem.hw.rtl.layouts import burst_layout, rows_layout
from tests.support.hw.rtl.rtl import Context, Sink, Watch, cycles, only_built, seeds, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

SIZE_BITS = 26
BUSES = (64, 128, 256, 512)

Job = tuple[int, int, int, int]
"""Address, size of a row and stride in bytes, and rows."""


def expected(job: Job, longest: int, bus: int) -> Iterator[tuple[int, int]]:
    """Address and beats of each burst: every row by itself, cut at pages and at `longest`."""
    address, size, stride, rows = job
    for row in range(rows):
        at = (address + row * stride) // bus * bus
        end = address + row * stride + size
        while at < end:
            page_end = (at // PAGE_BYTES + 1) * PAGE_BYTES
            beats = min(longest, -(-(min(end, page_end) - at) // bus))
            yield at, beats
            at += beats * bus


def random_job(rng: random.Random, bus: int) -> Job:
    """Rows of a few bytes, of a few beats, and of more than a page; any alignment."""
    size = rng.choice(
        (rng.randint(1, bus), rng.randint(1, 12 * bus), rng.randint(1, 2 * PAGE_BYTES + 77))
    )
    stride = rng.choice((0, size, rng.randint(0, 2 * size), rng.randint(0, 3 * PAGE_BYTES)))
    near_page = PAGE_BYTES * rng.randint(1, 9) - rng.randint(0, 3 * bus)
    address = rng.choice((near_page, rng.randrange(1 << 20)))
    return address, size, stride, rng.randint(1, 6)


def run_jobs(bus_bits: int, longest: int, jobs: list[Job], seed: int, chance: float) -> None:
    """Give the jobs one after the other, and compare every burst."""
    config = HardwareConfig(bus_bits=bus_bits)
    generator = BurstGenerator(config, longest=longest, size_bits=SIZE_BITS)
    rows = rows_layout(config.address_bits, SIZE_BITS)
    layout = burst_layout(config)

    async def bench(ctx: Context) -> None:
        for job in jobs:
            wanted = list(expected(job, longest, config.bus_bytes))
            ctx.set(generator.start, 1)
            ctx.set(generator.rows, dict(zip(rows.members, job, strict=True)))
            assert not ctx.get(generator.active)
            await ctx.tick()
            ctx.set(generator.start, 0)
            assert ctx.get(generator.active)
            sink = Sink(generator.burst, random.Random(seed), chance)
            lasts: list[int] = []

            def look(ctx: Context, sink: Sink = sink, lasts: list[int] = lasts) -> None:
                if len(sink.received) > len(lasts):
                    lasts.append(ctx.get(generator.last))

            await cycles(
                ctx, sink, Watch(look), until=lambda: not ctx.get(generator.active), limit=20000
            )
            found = [(burst.address, burst.beats) for burst in map(layout.from_bits, sink.received)]
            assert found == wanted, f"job {job}, seed {seed}"
            assert lasts == [0] * (len(wanted) - 1) + [1]
            if chance == 1.0:
                # Two cycles from the start to the first, then one each cycle.
                assert sink.times == list(range(1, len(wanted) + 1))

    simulate(generator, bench)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("chance", [1.0, 0.4])
@pytest.mark.parametrize("bus_bits", BUSES)
def test_cuts_rows(bus_bits: int, chance: float, seed: int) -> None:
    rng = random.Random(seed)
    for longest in (rng.choice((1, 2, 8)), rng.choice((16, 64, 256))):
        jobs = [random_job(rng, bus_bits // 8) for _ in range(8)]
        run_jobs(bus_bits, longest, jobs, seed, chance)


@pytest.mark.parametrize("bus_bits", BUSES)
def test_the_longest_row_there_is(bus_bits: int) -> None:
    bus = bus_bits // 8
    # 65535 of the largest elements that fit SIZE_BITS, one byte off a beat.
    run_jobs(bus_bits, 256, [(3 * bus + 1, 65535 * 64, 0, 1)], 0, 1.0)


@pytest.mark.parametrize("bus_bits", BUSES)
def test_many_rows_shorter_than_a_beat(bus_bits: int) -> None:
    run_jobs(bus_bits, 16, [(0x1000 - 3, 4, 5, 300), (0x2004, 4, 0, 40)], 0, 1.0)


def test_the_last_byte_of_the_address_space() -> None:
    run_jobs(64, 16, [((1 << 32) - 100, 100, 0, 2)], 0, 1.0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("bus_bits", BUSES)
def test_every_alignment_and_short_length(bus_bits: int) -> None:
    bus = bus_bits // 8
    jobs = [
        (PAGE_BYTES - 2 * bus + offset, size, size + offset, 2)
        for offset in range(0, 2 * bus, 3)
        for size in range(1, 4 * bus, 5)
    ]
    run_jobs(bus_bits, 3, jobs, 0, 1.0)


def test_names_tell_shapes_apart() -> None:
    generator = BurstGenerator(HardwareConfig(), longest=16, size_bits=20)
    assert only_built(generator).variant() == "16x20"

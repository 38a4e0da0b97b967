"""Where elements lie in the beats of a row, against arithmetic on addresses."""

from __future__ import annotations

import random

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.element_locator import ElementLocator
from tandem.hw.topology import MemoryId
from tests.support.hw.rtl.rtl import Context, only_built, random_bytes, seeds, simulate

BUSES = (64, 128, 256, 512)
SMALL = HardwareConfig(log_uop_buffer=8, log_inp_buffer=10, log_wgt_buffer=14)
MEMORIES = (MemoryId.UOP, MemoryId.ACC, MemoryId.ACC_8BIT)


def walk(config: HardwareConfig, memories: tuple[MemoryId, ...], seed: int, jobs: int) -> None:
    """Follow random rectangles of elements bank by bank."""
    rng = random.Random(seed)
    bus = config.bus_bytes
    content = random_bytes(rng, 1 << 15)
    locator = ElementLocator(config, memories)

    async def bench(ctx: Context) -> None:
        for _ in range(jobs):
            place = rng.randrange(len(memories))
            size = config.element_bytes(memories[place])
            width, rows = rng.randint(1, 3 * bus // size + 2), rng.randint(1, 4)
            stride = rng.randint(0, 4 * bus // size + 3) * size
            address = rng.randrange(0, 1 << 12, size)
            ctx.set(locator.start, 1)
            ctx.set(locator.address, address % bus)
            ctx.set(locator.stride, stride % bus)
            await ctx.tick()
            ctx.set(locator.start, 0)
            ctx.set(locator.select, 1 << place)
            for row in range(rows):
                for element in range(width):
                    at = address + row * stride + element * size
                    await follow(ctx, at, size, element == width - 1)

    async def follow(ctx: Context, at: int, size: int, row_ends: bool) -> None:
        """One element: its banks, or its place in a beat."""
        banks = max(1, size // bus)
        for bank in range(banks):
            start = at // bus * bus + bank * bus
            ctx.set(locator.beat, int.from_bytes(content[start : start + bus], "little"))
            ctx.set(locator.row_ends, row_ends)
            for _ in range(rng.choice((0, 0, 1))):
                # Nothing moves while nothing is taken.
                ctx.set(locator.advance, 0)
                await ctx.tick()
            ctx.set(locator.advance, 1)
            assert ctx.get(locator.bank) == bank
            assert ctx.get(locator.element_ends) == (bank == banks - 1)
            if size < bus:
                assert ctx.get(locator.offset) == at % bus
                fills = at % bus + size == bus
                assert ctx.get(locator.beat_ends) == (fills or row_ends)
            else:
                assert ctx.get(locator.beat_ends)
            piece = content[at + bank * bus : at + bank * bus + min(size, bus)]
            low = ctx.get(locator.data) & ((1 << 8 * len(piece)) - 1)
            assert low == int.from_bytes(piece, "little")
            await ctx.tick()

    simulate(locator, bench)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("log_block_out", [0, 2, 4, 6])
@pytest.mark.parametrize("bus_bits", BUSES)
def test_follows_rows(bus_bits: int, log_block_out: int, seed: int) -> None:
    config = SMALL.replace(
        bus_bits=bus_bits, log_block_out=log_block_out, log_acc_buffer=8 + log_block_out
    )
    walk(config, MEMORIES, seed, 6)


def test_serves_one_memory() -> None:
    walk(SMALL.replace(log_block_out=1, log_acc_buffer=12), (MemoryId.OUT,), 3, 10)


def test_names_tell_memories_apart() -> None:
    locator = only_built(ElementLocator(SMALL, (MemoryId.INP, MemoryId.WGT)))
    assert locator.variant() == "inp_wgt"

"""On-chip memories against lists of banks."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.back import rtlil

from tandem.hw.rtl.scratchpad import OnChipMemory, Scratchpad
from tests.support.hw.rtl.rtl import Context, only_built, seeds, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

DEPTH = 8


async def fill(ctx: Context, memory: Any, enable: int, rng: random.Random) -> None:
    """Write every element: what is on chip is undefined before."""
    ctx.set(memory.write_enable, enable)
    for address in range(DEPTH):
        ctx.set(memory.write_address, address)
        ctx.set(memory.write_data, 0)
        await ctx.tick()
    ctx.set(memory.write_enable, 0)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(
    ("bits", "grain"), [(16, 16), (32, 8), (64, 16), (8, 8), (2048, 256), (4096, 2048)]
)
def test_memory_writes_grains_and_reads_a_cycle_later(bits: int, grain: int, seed: int) -> None:
    rng = random.Random(seed)
    bank = OnChipMemory(bits=bits, depth=DEPTH, grain=grain)

    async def bench(ctx: Context) -> None:
        model = [0] * DEPTH
        await fill(ctx, bank, -1, rng)
        shown: int | None = None
        for _ in range(300):
            enable = rng.choice((0, rng.getrandbits(bits // grain)))
            target, data = rng.randrange(DEPTH), rng.getrandbits(bits)
            reads, source = rng.random() < 0.6, rng.randrange(DEPTH)
            if shown is not None:
                assert ctx.get(bank.read_data) == shown
            ctx.set(bank.write_enable, enable)
            ctx.set(bank.write_address, target)
            ctx.set(bank.write_data, data)
            ctx.set(bank.read_enable, reads)
            ctx.set(bank.read_address, source)
            await ctx.tick()
            if reads:
                # What a read gives of the address that is being written, nobody may ask.
                shown = None if enable and source == target else model[source]
            for part in range(bits // grain):
                if enable >> part & 1:
                    mask = ((1 << grain) - 1) << part * grain
                    model[target] = model[target] & ~mask | data & mask

    simulate(bank, bench)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("bits", "bank_bits"), [(64, 64), (64, 16), (24, 8)])
def test_scratchpad_takes_banks_and_gives_elements(bits: int, bank_bits: int, seed: int) -> None:
    rng = random.Random(seed)
    pad = Scratchpad(bits=bits, bank_bits=bank_bits, depth=DEPTH)
    assert pad.banks == bits // bank_bits

    async def bench(ctx: Context) -> None:
        model = [[0] * pad.banks for _ in range(DEPTH)]
        await fill(ctx, pad, -1, rng)
        shown: int | None = None
        for _ in range(300):
            enable = rng.getrandbits(pad.banks)
            target, data = rng.randrange(DEPTH), rng.getrandbits(bank_bits)
            reads, source = rng.random() < 0.6, rng.randrange(DEPTH)
            if shown is not None:
                assert ctx.get(pad.read_data) == shown
            ctx.set(pad.write_enable, enable)
            ctx.set(pad.write_address, target)
            ctx.set(pad.write_data, data)
            ctx.set(pad.read_enable, reads)
            ctx.set(pad.read_address, source)
            await ctx.tick()
            if reads:
                element = sum(v << n * bank_bits for n, v in enumerate(model[source]))
                shown = None if enable and source == target else element
            for part in range(pad.banks):
                if enable >> part & 1:
                    model[target][part] = data

    simulate(pad, bench)


@pytest.mark.parametrize(
    ("bits", "grain", "columns"),
    [(32, 32, 1), (1024, 64, 1), (4096, 64, 4), (4096, 2048, 2)],
)
def test_a_column_is_no_wider_than_its_limit_or_a_write_enable(
    bits: int, grain: int, columns: int
) -> None:
    text = rtlil.convert(OnChipMemory(bits=bits, depth=DEPTH, grain=grain))
    assert text.count(f"memory width {bits // columns} size {DEPTH}") == columns


def test_names_tell_shapes_apart() -> None:
    assert only_built(OnChipMemory(bits=16, depth=8, grain=16)).variant() == "16x8"
    assert only_built(OnChipMemory(bits=16, depth=8, grain=8)).variant() == "16x8_by_8"
    assert only_built(Scratchpad(bits=32, bank_bits=8, depth=8)).variant() == "32x8"

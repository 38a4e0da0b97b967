"""The AXI4-Lite slave against the register map."""

from __future__ import annotations

import random

import pytest

from hw.features import BASE, Feature
from hw.registers import ADDRESS_BITS, Access, Register, register_map, registers_of
from hw.rtl.registers import Registers
from tests.support.hw.rtl.rtl import Context, seeds, simulate
from tests.support.hw.rtl.rtl_bus import SLVERR, AxiLiteDriver

OKAY = 0
FEATURES = (BASE, frozenset({Feature.REQUANTISE}))


def merged(old: int, new: int, strobes: int) -> int:
    """`old` with the bytes of `new` that are strobed."""
    mask = sum(0xFF << 8 * byte for byte in range(4) if strobes >> byte & 1)
    return old & ~mask | new & mask


def words_of(features: frozenset[Feature]) -> dict[int, tuple[Register, int]]:
    """The register at each offset, and which of its words."""
    return {
        register.offset + 4 * part: (register, part)
        for register in registers_of(features)
        for part in range(register.bits // 32)
    }


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("features", FEATURES, ids=["base", "requantise"])
def test_random_accesses(features: frozenset[Feature], seed: int) -> None:
    rng = random.Random(seed)
    registers = Registers(features)
    words = words_of(features)
    unmapped = sorted(set(range(0, 1 << ADDRESS_BITS, 4)) - set(words))

    async def bench(ctx: Context) -> None:
        driver = AxiLiteDriver(registers.axi, rng)
        model = dict.fromkeys(words, 0)
        for register in registers_of(features):
            if register.access is not Access.READ_WRITE:
                value = rng.getrandbits(register.bits)
                ctx.set(getattr(registers, register.name), value)
                for part in range(register.bits // 32):
                    model[register.offset + 4 * part] = value >> 32 * part & 0xFFFF_FFFF
        for _ in range(120):
            mapped = rng.random() < 0.9
            address = rng.choice(list(words) if mapped else unmapped)
            low_bits = rng.randrange(4)
            response = OKAY if mapped else SLVERR
            if rng.random() < 0.5:
                wanted = model[address] if mapped else 0
                assert await driver.read(ctx, address | low_bits) == (response, wanted)
                continue
            value, strobes = rng.getrandbits(32), rng.choice((0b1111, rng.randrange(16)))
            assert await driver.write(ctx, address | low_bits, value, strobes) == response
            if mapped and words[address][0].access is Access.READ_WRITE:
                model[address] = merged(model[address], value, strobes)
        for register in registers_of(features):
            if register.access is Access.READ_WRITE:
                whole = sum(
                    model[register.offset + 4 * part] << 32 * part
                    for part in range(register.bits // 32)
                )
                assert ctx.get(getattr(registers, register.name)) == whole

    simulate(registers, bench)


@pytest.mark.parametrize("features", FEATURES, ids=["base", "requantise"])
def test_a_register_is_there_if_its_feature_is(features: frozenset[Feature]) -> None:
    """Also as a member: what else would drive it?"""
    registers = Registers(features)
    there = {register.name for register in registers_of(features)}
    assert ("par_buffer" in there) == ("base_par" in there) == bool(features)
    for register in register_map():
        assert (register.name in registers.signature.members) == (register.name in there)

    async def bench(ctx: Context) -> None:
        driver = AxiLiteDriver(registers.axi, random.Random(0))
        for register in register_map():
            response, _ = await driver.read(ctx, register.offset)
            assert response == (OKAY if register.name in there else SLVERR), register.name

    simulate(registers, bench)


ONES = [register for register in register_map() if register.access is Access.WRITE_ONE]


@pytest.mark.parametrize("register", ONES, ids=lambda register: register.name)
@pytest.mark.parametrize("strobes", [0b1111, 0b0010, 0])
def test_bits_written_as_one_act_for_one_cycle(register: Register, strobes: int) -> None:
    rng = random.Random(strobes)
    registers = Registers(BASE)
    pulses: list[int] = []

    async def bench(ctx: Context) -> None:
        driver = AxiLiteDriver(registers.axi, rng)
        value = rng.getrandbits(32) | 0x0101_0101
        assert await driver.write(ctx, register.offset, value, strobes) == OKAY
        # Another register's write is none of this one's.
        await driver.write(ctx, register.offset ^ 0x30, 0xFFFF_FFFF)
        for _ in range(4):
            await ctx.tick()
        wanted = merged(0, value, strobes)
        assert pulses == ([wanted] if wanted else [])

    async def watch(ctx: Context) -> None:
        async for _ in ctx.tick():
            pulse = ctx.get(getattr(registers, f"{register.name}_set"))
            if pulse:
                pulses.append(pulse)

    simulate(registers, bench, watch)


def test_an_answer_is_kept_while_the_master_is_busy() -> None:
    """Neither a second write nor a second read is mixed up with the first, unanswered one."""
    registers = Registers(BASE)
    axi = registers.axi
    offset = next(each.offset for each in register_map() if each.name == "base_inp")

    async def bench(ctx: Context) -> None:
        for value in (1, 2):
            ctx.set(axi.awaddr, offset)
            ctx.set(axi.awvalid, 1)
            ctx.set(axi.wdata, value)
            ctx.set(axi.wstrb, 0b1111)
            ctx.set(axi.wvalid, 1)
            assert ctx.get(axi.awready)
            assert ctx.get(axi.wready)
            await ctx.tick()
            ctx.set(axi.awvalid, 0)
            ctx.set(axi.wvalid, 0)
            await ctx.tick()
        # The second is taken, but not done before the first has been answered.
        for _ in range(5):
            assert ctx.get(axi.bvalid)
            assert ctx.get(registers.base_inp) == 1
            await ctx.tick()
        ctx.set(axi.bready, 1)
        await ctx.tick()
        assert not ctx.get(axi.bvalid)
        await ctx.tick()
        assert ctx.get(axi.bvalid)
        assert ctx.get(registers.base_inp) == 2
        await ctx.tick()
        ctx.set(axi.araddr, offset)
        ctx.set(axi.arvalid, 1)
        await ctx.tick()
        ctx.set(axi.araddr, 0)
        assert not ctx.get(axi.arready)
        assert not ctx.get(axi.rvalid)
        await ctx.tick()
        for _ in range(3):
            assert not ctx.get(axi.arready)
            assert ctx.get(axi.rvalid)
            assert ctx.get(axi.rdata) == 2
            await ctx.tick()

    simulate(registers, bench)

"""The registers behind their AXI4-Lite slave, against the register map."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Value

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.register_model import Access, Register
from tandem.hw.registers import ADDRESS_BITS, register_map, registers_of
from tests.support.hw.rtl.register_slave import RegisterSlave
from tests.support.hw.rtl.rtl import Context, seeds, simulate
from tests.support.hw.rtl.rtl_bus import SLVERR, AxiLiteDriver

OKAY = 0
BASE = HardwareConfig()
CONFIGS = (BASE, HardwareConfig(features=frozenset({Feature.REQUANTISE})))


def merged(old: int, new: int, strobes: int) -> int:
    """`old` with the bytes of `new` that are strobed."""
    mask = sum(0xFF << 8 * byte for byte in range(4) if strobes >> byte & 1)
    return old & ~mask | new & mask


def words_of(config: HardwareConfig) -> dict[int, tuple[Register, int]]:
    """The register at each offset, and the least significant bit of its word."""
    return {
        offset: (register, lsb)
        for register in registers_of(config.features)
        for _, offset, lsb in register.words
    }


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("config", CONFIGS, ids=["base", "requantise"])
def test_random_accesses(config: HardwareConfig, seed: int) -> None:
    rng = random.Random(seed)
    slave = RegisterSlave(config)
    registers = slave.registers
    words = words_of(config)
    unmapped = sorted(set(range(0, 1 << ADDRESS_BITS, 4)) - set(words))

    async def bench(ctx: Context) -> None:
        driver = AxiLiteDriver(slave.axi, rng)
        model = dict.fromkeys(words, 0)
        for register in registers_of(config.features):
            if register.access is not Access.READ_WRITE:
                value = register.value(config)
                if not register.constant:
                    value = rng.getrandbits(register.bits)
                    ctx.set(Value.cast(getattr(registers, register.name)), value)
                for _, offset, lsb in register.words:
                    model[offset] = value >> lsb & 0xFFFF_FFFF
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
                register, lsb = words[address]
                model[address] = merged(model[address], value & register.mask >> lsb, strobes)
        for register in registers_of(config.features):
            if register.access is Access.READ_WRITE:
                whole = sum(model[offset] << lsb for _, offset, lsb in register.words)
                assert ctx.get(Value.cast(getattr(registers, register.name))) == whole

    simulate(slave, bench)


@pytest.mark.parametrize("config", CONFIGS, ids=["base", "requantise"])
def test_a_register_is_there_if_its_feature_is(config: HardwareConfig) -> None:
    """Also as a member: what else would drive it?"""
    slave = RegisterSlave(config)
    registers = slave.registers
    there = {register.name for register in registers_of(config.features)}
    assert ("par_buffer" in there) == ("base_par" in there) == bool(config.features)
    for register in register_map():
        member = register.name in there and not register.constant
        assert (register.name in registers.signature.members) == member

    async def bench(ctx: Context) -> None:
        driver = AxiLiteDriver(slave.axi, random.Random(0))
        for register in register_map():
            response, _ = await driver.read(ctx, register.offset)
            assert response == (OKAY if register.name in there else SLVERR), register.name

    simulate(slave, bench)


ONES = [register for register in register_map() if register.access is Access.WRITE_ONE]


@pytest.mark.parametrize("register", ONES, ids=lambda register: register.name)
@pytest.mark.parametrize("strobes", [0b1111, 0b0010, 0])
def test_bits_written_as_one_act_for_one_cycle(register: Register, strobes: int) -> None:
    rng = random.Random(strobes)
    slave = RegisterSlave(BASE)
    registers = slave.registers
    pulses: list[int] = []

    async def bench(ctx: Context) -> None:
        driver = AxiLiteDriver(slave.axi, rng)
        value = rng.getrandbits(32) | 0x0101_0101
        assert await driver.write(ctx, register.offset, value, strobes) == OKAY
        # Another register's write is none of this one's.
        await driver.write(ctx, register.offset ^ 0x30, 0xFFFF_FFFF)
        for _ in range(4):
            await ctx.tick()
        wanted = merged(0, value & register.mask, strobes)
        assert pulses == ([wanted] if wanted else [])

    async def watch(ctx: Context) -> None:
        async for _ in ctx.tick():
            pulse = ctx.get(Value.cast(getattr(registers, f"{register.name}_set")))
            if pulse:
                pulses.append(pulse)

    simulate(slave, bench, watch)

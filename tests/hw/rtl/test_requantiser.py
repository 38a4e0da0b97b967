"""Requantisation against plain numbers: each value, each bit of what it depends on, each stage."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from tandem.hw.config import PARAMETER_BYTES, HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.rtl.requantiser import Requantiser, Requantisers
from tandem.hw.timing import OUT_STAGES
from tests.support.hw.rtl.rtl import Context, built, seeds, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

LOW, HIGH = -(1 << 31), (1 << 31) - 1
MOST = (1 << 16) - 1
EARLY = 2
"""Stages ahead of the write of ACC in which the parameters of its channel come."""


@dataclass(frozen=True)
class Case:
    """What one byte of OUT depends on, if it is requantised; of others, registers take nothing."""

    result: int
    multiplier: int = 1
    addend: int = 0
    shift: int = 0
    low: int = -128
    high: int = 127
    scaled: int = 0
    residual: bool = False
    active: bool = True

    @property
    def byte(self) -> int:
        """The byte of OUT, unsigned."""
        scaled = self.scaled if self.residual else 0
        y = (self.result * self.multiplier + self.addend + scaled) >> self.shift
        if y < self.low:
            y = self.low
        elif y > self.high:
            y = self.high
        return y & 0xFF


def random_case(rng: random.Random, residuals: bool) -> Case:
    """Any values, and often some whose result lies within or about the limits."""
    multiplier, shift = rng.choice((0, 1, MOST, rng.getrandbits(16))), rng.randrange(32)
    result = rng.choice((LOW, HIGH, -1, 0, 1, rng.randint(LOW, HIGH)))
    if rng.random() < 0.7:
        near = rng.randint(-140, 140) << shift
        result = max(LOW, min(HIGH, near // max(1, multiplier) + rng.randint(-1, 1)))
    return Case(
        result=result,
        multiplier=multiplier,
        addend=rng.choice((LOW, HIGH, 0, 1 << shift >> 1, rng.randint(LOW, HIGH))),
        shift=shift,
        low=rng.choice((-128, -1, 0, rng.randint(-128, 127))),
        high=rng.choice((127, 0, rng.randint(-128, 127))),
        scaled=rng.choice((LOW, HIGH, -1, 0, 1, rng.randint(LOW, HIGH))),
        residual=residuals and rng.random() < 0.5,
        active=rng.random() < 0.8,
    )


async def compare(ctx: Context, block: Requantiser, cases: Sequence[Case | None]) -> None:
    """A case in each cycle, or noise; each byte in its own cycle, and until the next one comes."""
    noise = random.Random(0).getrandbits
    residuals = "scaled" in block.signature.members
    last: Case | None = None

    def at(cycle: int) -> Case | None:
        return cases[cycle] if 0 <= cycle < len(cases) else None

    # In cycle n, case n is written to ACC.
    for cycle in range(-EARLY, len(cases) + OUT_STAGES):
        prepares, executes, writes, adds, shifts, clips, done = (
            at(cycle + EARLY - stage) for stage in range(EARLY + OUT_STAGES + 1)
        )
        stages = (prepares, executes, writes, adds, shifts, clips)
        control = {"enable": enables(stages), "residual": 0}
        control |= {"low": noise(8) - 128, "high": noise(8) - 128}
        for name in ("addend", "result"):
            ctx.set(getattr(block, name), noise(32) - (1 << 31))
        ctx.set(block.multiplier, noise(16))
        ctx.set(block.shift, noise(5))
        if residuals:
            ctx.set(block.scaled, noise(32) - (1 << 31))
        if executes is not None:
            control["residual"] = int(executes.residual and executes.active)
            if executes.residual:
                ctx.set(block.scaled, executes.scaled)
        if writes is not None:
            ctx.set(block.result, writes.result)
            ctx.set(block.addend, writes.addend)
            ctx.set(block.multiplier, writes.multiplier)
        if shifts is not None:
            ctx.set(block.shift, shifts.shift)
        if clips is not None:
            control["low"] = clips.low
            control["high"] = clips.high
        ctx.set(block.control, control)
        if done is not None and done.active:
            last = done
        if last is not None:
            assert ctx.get(block.value) == last.byte, str(last)
        await ctx.tick()


def enables(stages: Sequence[Case | None]) -> int:
    """The enables of these stages, the earliest in the lowest bit."""
    active = (case is not None and case.active for case in stages)
    return sum(bit << place for place, bit in enumerate(active))


def check(cases: Sequence[Case | None], *, residuals: bool = True) -> None:
    block = built(Requantiser, residuals)

    async def bench(ctx: Context) -> None:
        await compare(ctx, block, cases)

    simulate(block, bench)


@pytest.mark.parametrize("residuals", [False, True])
@pytest.mark.parametrize("seed", seeds(2))
def test_random_values_back_to_back(residuals: bool, seed: int) -> None:
    rng = random.Random(seed)
    cases = [random_case(rng, residuals) if rng.random() < 0.9 else None for _ in range(1500)]
    check(cases, residuals=residuals)


def test_every_bit_of_every_operand() -> None:
    """Shifted so that the bit is seen, alone and beside all others."""
    cases = []
    for bit, shift in itertools.product(range(32), range(32)):
        for result in (1 << bit, -1 << bit, ~(1 << bit)):
            cases.append(Case(result if bit < 31 else LOW, shift=shift))
            cases.append(Case(0, addend=result if bit < 31 else LOW, shift=shift))
    for bit in range(16):
        for shift in range(32):
            cases.append(Case(1, multiplier=1 << bit, shift=shift))
            cases.append(Case(-1, multiplier=1 << bit, shift=shift))
            cases.append(Case(1 << 16, multiplier=MOST ^ 1 << bit, shift=shift))
    for bit in range(32):
        for scaled in (LOW if bit == 31 else 1 << bit, -1 << bit):
            for shift in range(max(0, bit - 8), bit + 1):
                one = Case(0, scaled=scaled, residual=True, shift=shift)
                cases += [one, replace(one, residual=False), replace(one, active=False)]
    for low, high in itertools.product((-128, -127, -2, -1, 0, 1, 2, 64, 127), repeat=2):
        for place in (low - 1, low, low + 1, high - 1, high, high + 1):
            cases.append(Case(place, low=low, high=high))
    for bit in range(8):
        cases.append(Case(HIGH, high=(1 << bit) - 128))
        cases.append(Case(LOW, low=(1 << bit) - 128))
    check([replace(case, shift=min(31, case.shift)) for case in cases])


@pytest.mark.parametrize("shift", range(32))
def test_where_a_byte_ends(shift: int) -> None:
    """Each bit above the byte, alone different from the sign, is beyond what a byte holds."""
    cases = []
    for value in (-129, -128, -1, 0, 127, 128):
        for rest in (0, (1 << shift) - 1):
            cases.append(_reaching((value << shift) + rest, shift))
    for bit in range(shift, 47):
        cases += [_reaching(1 << bit, shift), _reaching(~(1 << bit), shift)]
    check(cases)


def _reaching(total: int, shift: int) -> Case:
    """A case in which `total` is shifted."""
    result, addend = divmod(total, MOST)
    return Case(result, multiplier=MOST, addend=addend, shift=shift)


def test_extremes_do_not_overflow() -> None:
    cases = [
        Case(result, multiplier, addend, 31, scaled=scaled, residual=True)
        for result in (LOW, -1, 0, HIGH)
        for multiplier in (0, 1, MOST)
        for addend in (LOW, -1, 0, HIGH)
        for scaled in (LOW, -1, 0, HIGH)
    ]
    check(cases)


SHAPES = [(0, 2, 64), (1, 1, 64), (2, 0, 128), (0, 4, 512)]
"""log2 of batch and of channels, and the bus."""


def machine(
    log_batch: int, log_block: int, bus_bits: int, features: frozenset[Feature]
) -> HardwareConfig:
    return HardwareConfig(
        log_batch=log_batch,
        log_block_in=log_block,
        log_block_out=log_block,
        log_uop_buffer=8,
        log_inp_buffer=8,
        log_wgt_buffer=10,
        log_acc_buffer=6 + log_batch + log_block,
        bus_bits=bus_bits,
        features=features,
    )


def element(channels: Sequence[Case], rng: random.Random) -> int:
    """An element of PAR, with any bits where none has a meaning."""
    parts = (
        (case.addend & 0xFFFF_FFFF)
        | case.multiplier << 32
        | (case.shift | rng.getrandbits(3) << 5) << 48
        | rng.getrandbits(8) << 56
        for case in channels
    )
    return sum(part << 8 * PARAMETER_BYTES * place for place, part in enumerate(parts))


def stream(config: HardwareConfig, elements: Sequence[Sequence[Case]], rng: random.Random) -> None:
    """Whole elements back to back, each with its values' cases.

    All cases of an element have one mode, and those of one channel the same parameters.
    """
    block = Requantisers(config)
    columns, lanes, count = config.block_out, config.acc_lanes, len(elements)
    residuals = Feature.INPUT_OPERANDS in config.features

    async def bench(ctx: Context) -> None:
        last: Sequence[Case] | None = None
        for cycle in range(-EARLY, count + OUT_STAGES):
            stages = [
                elements[(cycle + EARLY - stage) % count] for stage in range(EARLY + OUT_STAGES + 1)
            ]
            prepares, executes, writes, _, _, clips, done = stages
            if residuals:
                ctx.set(block.scaled, packed([case.scaled for case in executes], 32))
            ctx.set(block.parameters, element(prepares[:columns], rng))
            ctx.set(block.result, packed([case.result for case in writes], 32))
            ctx.set(
                block.control,
                {
                    "enable": enables([values[0] for values in stages[:-1]]),
                    "residual": int(executes[0].residual and executes[0].active),
                    "low": clips[0].low,
                    "high": clips[0].high,
                },
            )
            if cycle >= OUT_STAGES and done[0].active:
                last = done
            if last is not None:
                found = int(ctx.get(block.value)).to_bytes(lanes, "little")
                assert list(found) == [case.byte for case in last], f"cycle {cycle}: {last}"
            await ctx.tick()

    simulate(block, bench)


def packed(values: Sequence[int], width: int) -> int:
    """Values side by side, the first in the lowest bits."""
    mask = (1 << width) - 1
    return sum((value & mask) << width * place for place, value in enumerate(values))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("residuals", [False, True])
def test_each_value_has_its_channel_s_parameters(
    shape: tuple[int, int, int], residuals: bool
) -> None:
    """Some with the mode off: they leave the values before them."""
    config = machine(*shape, features_of(residuals))
    rng = random.Random(sum(shape))
    columns, lanes = config.block_out, config.acc_lanes
    elements: list[list[Case]] = []
    for _ in range(40):
        common = random_case(rng, residuals)
        channels = [random_case(rng, residuals) for _ in range(columns)]
        elements.append(
            [
                replace(
                    random_case(rng, residuals),
                    multiplier=channels[lane % columns].multiplier,
                    addend=channels[lane % columns].addend,
                    shift=channels[lane % columns].shift,
                    low=common.low,
                    high=common.high,
                    residual=common.residual,
                    active=common.active,
                )
                for lane in range(lanes)
            ]
        )
    stream(config, elements, rng)


def features_of(residuals: bool) -> frozenset[Feature]:
    both = {Feature.REQUANTISE, Feature.INPUT_OPERANDS}
    return frozenset(both if residuals else {Feature.REQUANTISE})


@pytest.mark.parametrize("shape", [(0, 2, 64), (1, 1, 64)])
def test_every_bit_of_each_lane_s_numbers(shape: tuple[int, int, int]) -> None:
    """One bit in one channel, or in one value's result or residual: it is seen there only."""
    config = machine(*shape, features_of(residuals=True))
    columns, lanes = config.block_out, config.acc_lanes
    nothing = Case(0, multiplier=0, residual=True)
    elements: list[list[Case]] = []

    def one_channel(column: int, other: Case, one: Case) -> None:
        channels = [other] * columns
        channels[column] = one
        elements.append(channels * config.batch)

    for column in range(columns):
        for bit in range(32):
            other = replace(nothing, shift=bit)
            one_channel(column, other, replace(other, addend=(-1 if bit == 31 else 1) << bit))
        for bit in range(16):
            other = replace(nothing, result=1, shift=bit)
            one_channel(column, other, replace(other, multiplier=1 << bit))
        for bit, addend in itertools.product(range(5), (3 << 28, -5)):
            other = replace(nothing, addend=addend)
            one_channel(column, other, replace(other, shift=1 << bit))
            other = replace(other, shift=31)
            one_channel(column, other, replace(other, shift=31 ^ 1 << bit))
    for lane in range(lanes):
        for bit in range(32):
            values = [replace(nothing, multiplier=1, shift=bit)] * lanes
            values[lane] = replace(values[lane], result=(-1 if bit == 31 else 1) << bit)
            elements.append(values)
        for bit in range(32):
            values = [replace(nothing, shift=bit)] * lanes
            values[lane] = replace(values[lane], scaled=(-1 if bit == 31 else 1) << bit)
            elements.append(values)
    for bit in range(8):
        limit = -128 if bit == 7 else 1 << bit
        elements.append([replace(nothing, addend=1000, high=limit)] * lanes)
        elements.append([replace(nothing, addend=-1000, low=limit)] * lanes)
        elements.append([replace(nothing, low=limit, high=limit)] * lanes)
    elements += [[replace(nothing, result=300, active=active)] * lanes for active in (True, False)]
    bytes_of = {tuple(case.byte for case in values) for values in elements}
    assert len(bytes_of) > 30
    stream(config, elements, random.Random(0))

"""The parts of the ALU, together and alone, against Python's whole numbers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence

import pytest
from amaranth.hdl import Module, Mux

from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.hw.rtl.alu import Alu, Products, Shifter
from tests.support.hw.alu_cases import CASES, HIGH, LOW, alu_result, wrapped
from tests.support.hw.rtl.rtl import Context, seeds, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

CORNERS = (LOW, LOW + 1, -(1 << 16), -32768, -129, -2, -1, 0, 1, 2, 127, 32767, 1 << 16, HIGH)
HALVES = (0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF)
"""Upper or lower 16 bits of a factor: `Products` multiplies them separately."""
ONE_TERM = (AluOp.SHR, AluOp.MOVE, AluOp.RESIDUAL)
"""Operations whose result is a sum with zero."""
WORDS = tuple(wrapped(high << 16 | low) for high in HALVES for low in HALVES)
"""Every factor of two such halves."""


def in_range(amount: int) -> bool:
    """Whether SHR can shift by this amount."""
    return abs(amount) <= MAX_SHIFT


def check(cases: Iterable[tuple[AluOp, int, int, int]]) -> None:
    """Check cases (operation, a, b, result), with the ALU's parts connected as in a lane.

    Inputs of the second stage that the operation does not use are noise.
    """
    m = Module()
    m.submodules.shifter = shifter = Shifter()
    m.submodules.products = products = Products()
    m.submodules.alu = alu = Alu()
    shifts = alu.op == AluOp.SHR
    m.d.comb += [products.enable.eq(alu.op == AluOp.MUL)]
    m.d.comb += [alu.low.eq(products.low), alu.crossed.eq(products.crossed)]
    m.d.comb += [products.a.eq(shifter.a), products.b.eq(shifter.b)]
    first = Mux(alu.op == AluOp.MOVE, 0, shifter.a)
    m.d.comb += [alu.first.eq(Mux(shifts, shifter.result, first))]
    m.d.comb += [alu.second.eq(Mux(shifts | (alu.op == AluOp.RESIDUAL), 0, shifter.b))]
    rng = random.Random(0)

    async def bench(ctx: Context) -> None:
        for op, a, b, result in cases:
            ctx.set(alu.op, op)
            ctx.set(shifter.a, a)
            ctx.set(shifter.b, b)
            if op is AluOp.MUL:
                await ctx.tick()
                # The products are those of the cycle before.
                ctx.set(shifter.a, rng.randint(LOW, HIGH))
                ctx.set(shifter.b, rng.randint(LOW, HIGH))
            assert wrapped(ctx.get(alu.result)) == result, f"{op.name} {a}, {b}"

    simulate(m, bench)


def compare(cases: Iterable[tuple[AluOp, int, int]]) -> None:
    """Check cases (operation, a, b) against `alu_result`."""
    check((op, a, b, alu_result(op, a, b)) for op, a, b in cases)


def test_cases() -> None:
    check(CASES)


@pytest.mark.parametrize("op", AluOp)
def test_extremes(op: AluOp) -> None:
    pairs = itertools.product(CORNERS, CORNERS)
    compare((op, a, b) for a, b in pairs if op is not AluOp.SHR or in_range(b))


def test_products_of_every_pair_of_halves() -> None:
    assert min(WORDS) == LOW
    assert max(WORDS) == HIGH
    compare((AluOp.MUL, a, b) for a in WORDS for b in WORDS)


@pytest.mark.parametrize("seed", seeds(2))
def test_random_values(seed: int) -> None:
    rng = random.Random(seed)
    cases = []
    for _ in range(500):
        op = rng.choice(list(AluOp))
        a = rng.randint(LOW, HIGH)
        b = rng.randint(-31, 31) if op is AluOp.SHR else rng.choice((rng.randint(LOW, HIGH), a))
        cases.append((op, a, b))
    compare(cases)


def test_every_shift_and_those_beyond() -> None:
    """By an amount out of range the result is undefined, but the amount is reported."""
    amounts = (*range(-66, 67), 127, -127, 255, 256, -256, 1 << 16, -(1 << 16), LOW, LOW + 1, HIGH)
    values = (LOW, LOW + 1, -3, -1, 0, 1, 0x55AA55AA, -0x55AA55AB, HIGH)
    shifter = Shifter()

    async def bench(ctx: Context) -> None:
        for a, b in itertools.product(values, amounts):
            ctx.set(shifter.a, a)
            ctx.set(shifter.b, b)
            assert ctx.get(shifter.out_of_range) == (not in_range(b)), f"{a} >> {b}"
            if in_range(b):
                assert wrapped(ctx.get(shifter.result)) == alu_result(AluOp.SHR, a, b), f"{a}, {b}"

    simulate(shifter, bench)


def parts(a: int, b: int) -> tuple[int, int]:
    """`low` and `crossed` of two factors."""
    a_high, a_low = divmod(a & 0xFFFFFFFF, 1 << 16)
    b_high, b_low = divmod(b & 0xFFFFFFFF, 1 << 16)
    return a_low * b_low, (a_high * b_low & 0xFFFF) << 16 | (a_low * b_high & 0xFFFF)


def test_products_are_registered_while_enabled() -> None:
    products = Products()
    rng = random.Random(1)

    async def bench(ctx: Context) -> None:
        held = (0, 0)
        for a, b in itertools.product(WORDS, WORDS):
            enable = rng.random() < 0.7
            ctx.set(products.a, a)
            ctx.set(products.b, b)
            ctx.set(products.enable, enable)
            # What the factors of this cycle give is not there before the next.
            assert (ctx.get(products.low), ctx.get(products.crossed)) == held
            await ctx.tick()
            held = parts(a, b) if enable else held
            assert (ctx.get(products.low), ctx.get(products.crossed)) == held, f"{a} * {b}"

    simulate(products, bench)


@pytest.mark.parametrize("op", AluOp)
def test_the_second_stage_selects_or_adds(op: AluOp) -> None:
    """MUL adds what comes as products, ignoring its operands; all else ignores the products.

    The terms of MUL are any: of these, some are no products.
    """
    rng = random.Random(int(op))
    function = AluOp.ADD if op in ONE_TERM else op
    pairs = [*itertools.product(CORNERS, CORNERS)]
    pairs += [(rng.randint(LOW, HIGH), rng.randint(LOW, HIGH)) for _ in range(100)]
    noise: Sequence[tuple[int, int]] = rng.sample(pairs, len(pairs))
    alu = Alu()

    async def bench(ctx: Context) -> None:
        ctx.set(alu.op, op)
        for used, unused in zip(pairs, noise, strict=True):
            multiplies = op is AluOp.MUL
            (low, crossed), (first, second) = (used, unused) if multiplies else (unused, used)
            ctx.set(alu.first, first)
            ctx.set(alu.second, second)
            ctx.set(alu.low, low & 0xFFFFFFFF)
            ctx.set(alu.crossed, crossed & 0xFFFFFFFF)
            if multiplies:
                wanted = wrapped(low + (((crossed >> 16) + crossed) << 16))
            else:
                wanted = alu_result(function, first, second)
            assert wrapped(ctx.get(alu.result)) == wanted, f"{op.name} {used}, {unused}"

    simulate(alu, bench)

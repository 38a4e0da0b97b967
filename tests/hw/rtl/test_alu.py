"""The two halves of the ALU, together and alone, against Python's whole numbers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import pytest
from amaranth.hdl import Module

from hw.operations import MAX_SHIFT, AluOp
from hw.rtl.alu import AluFirstHalf, AluSecondHalf
from hw.timing import EARLY_OPS
from tests.support.alu_cases import CASES, HIGH, LOW, alu_result, wrapped
from tests.support.rtl import Context, seeds, simulate

CORNERS = (LOW, LOW + 1, -(1 << 16), -32768, -129, -2, -1, 0, 1, 2, 127, 32767, 1 << 16, HIGH)
HALVES = (0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF)
"""Upper or lower 16 bits of an operand of MUL: the first half multiplies them apart."""

Cases = Iterable[tuple[AluOp, int, int]]


def check(cases: Iterable[tuple[AluOp, int, int, int | None]]) -> None:
    """Check each case (operation, a, b, result; None: the shift is out of range).

    The halves must compute the result together, and the first half must keep its contract.
    """
    m = Module()
    m.submodules.first_half = first_half = AluFirstHalf()
    m.submodules.second_half = second_half = AluSecondHalf()
    m.d.comb += [
        second_half.op.eq(first_half.op),
        second_half.first.eq(first_half.first),
        second_half.second.eq(first_half.second),
    ]

    async def bench(ctx: Context) -> None:
        for op, a, b, result in cases:
            case = f"{op.name} {a}, {b}"
            ctx.set(first_half.op, op)
            ctx.set(first_half.a, a)
            ctx.set(first_half.b, b)
            assert ctx.get(first_half.shift_out_of_range) == (result is None), case
            if result is None:
                continue
            assert wrapped(ctx.get(second_half.result)) == result, case
            first, second = wrapped(ctx.get(first_half.first)), wrapped(ctx.get(first_half.second))
            if op in EARLY_OPS:
                assert wrapped(first + second) == result, case
            else:
                assert (first, second) == (a, b), case

    simulate(m, bench)


def compare(cases: Cases) -> None:
    """Check cases (operation, a, b) against `alu_result`."""
    check(
        (op, a, b, None if op is AluOp.SHR and abs(b) > MAX_SHIFT else alu_result(op, a, b))
        for op, a, b in cases
    )


def test_cases() -> None:
    check((case.op, case.a, case.b, case.result) for case in CASES)


@pytest.mark.parametrize("op", AluOp)
def test_extremes(op: AluOp) -> None:
    compare((op, a, b) for a in CORNERS for b in CORNERS)


def test_products_of_every_pair_of_halves() -> None:
    values = [wrapped(high << 16 | low) for high in HALVES for low in HALVES]
    assert min(values) == LOW
    assert max(values) == HIGH
    compare((AluOp.MUL, a, b) for a in values for b in values)


def test_every_shift_and_those_beyond() -> None:
    amounts = (*range(-34, 35), 63, 64, -64, 255, 256, -256, LOW, HIGH)
    values = (LOW, LOW + 1, -3, -1, 0, 1, 0x55AA55AA, -0x55AA55AB, HIGH)
    compare((AluOp.SHR, a, b) for a in values for b in amounts)


@pytest.mark.parametrize("seed", seeds(2))
def test_random_values(seed: int) -> None:
    rng = random.Random(seed)
    cases = []
    for _ in range(500):
        op = rng.choice(list(AluOp))
        a = rng.randint(LOW, HIGH)
        b = rng.randint(-31, 31) if op is AluOp.SHR else rng.randint(LOW, HIGH)
        cases.append((op, a, rng.choice((b, a)) if op is not AluOp.SHR else b))
    compare(cases)


@pytest.mark.parametrize("op", AluOp)
def test_second_half_selects_or_adds(op: AluOp) -> None:
    """MUL and SHR add whatever comes: their sums can have terms that no product or shift has."""
    function = op if op in (AluOp.MIN, AluOp.MAX) else AluOp.ADD
    rng = random.Random(int(op))
    pairs = [*itertools.product(CORNERS, CORNERS)]
    pairs += [(rng.randint(LOW, HIGH), rng.randint(LOW, HIGH)) for _ in range(100)]
    second_half = AluSecondHalf()

    async def bench(ctx: Context) -> None:
        ctx.set(second_half.op, op)
        for first, second in pairs:
            ctx.set(second_half.first, first)
            ctx.set(second_half.second, second)
            found = wrapped(ctx.get(second_half.result))
            assert found == alu_result(function, first, second), f"{op.name} {first}, {second}"

    simulate(second_half, bench)

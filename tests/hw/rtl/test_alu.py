"""The ALU against Python's whole numbers."""

from __future__ import annotations

import random

import pytest

from hw.operations import MAX_SHIFT, AluOp
from hw.rtl.alu import Alu
from tests.support.alu_cases import CASES, HIGH, LOW, alu_result, wrapped
from tests.support.rtl import Context, seeds, simulate

CORNERS = (LOW, LOW + 1, -(1 << 16), -32768, -129, -2, -1, 0, 1, 2, 127, 32767, 1 << 16, HIGH)


def compare(cases: list[tuple[AluOp, int, int]]) -> None:
    alu = Alu()

    async def bench(ctx: Context) -> None:
        for op, a, b in cases:
            ctx.set(alu.op, op)
            ctx.set(alu.a, a)
            ctx.set(alu.b, b)
            shift_out_of_range = op is AluOp.SHR and abs(b) > MAX_SHIFT
            assert ctx.get(alu.shift_out_of_range) == shift_out_of_range, f"{op.name} {a}, {b}"
            if not shift_out_of_range:
                assert wrapped(ctx.get(alu.result)) == alu_result(op, a, b), f"{op.name} {a}, {b}"

    simulate(alu, bench)


def test_cases() -> None:
    alu = Alu()

    async def bench(ctx: Context) -> None:
        for case in CASES:
            ctx.set(alu.op, case.op)
            ctx.set(alu.a, case.a)
            ctx.set(alu.b, case.b)
            assert wrapped(ctx.get(alu.result)) == case.result, str(case)
            assert not ctx.get(alu.shift_out_of_range), str(case)

    simulate(alu, bench)


@pytest.mark.parametrize("op", AluOp)
def test_extremes(op: AluOp) -> None:
    compare([(op, a, b) for a in CORNERS for b in CORNERS])


def test_every_shift_and_those_beyond() -> None:
    amounts = (*range(-34, 35), 63, 64, -64, 255, 256, -256, LOW, HIGH)
    values = (LOW, -3, -1, 0, 1, 0x55AA55AA, HIGH)
    compare([(AluOp.SHR, a, b) for a in values for b in amounts])


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

"""Saturation against Python's whole numbers: all values, all shifts."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Module, Signal, signed

from tandem.hw.rtl.alu import SHIFT_BITS
from tandem.hw.rtl.saturation import nearest, overflows, saturated, shifted_bits
from tests.support.hw.rtl.rtl import Context, simulate


def ends(bits: int) -> tuple[int, int]:
    return -(1 << bits - 1), (1 << bits - 1) - 1


@pytest.mark.parametrize(("width", "bits"), [(9, 8), (10, 3), (12, 8), (40, 8), (33, 12), (50, 31)])
def test_numbers(width: int, bits: int) -> None:
    """Of widths below ten bits all numbers; else those near the ends of each number of bits."""
    value, shift = Signal(signed(width)), Signal(SHIFT_BITS)
    direct, shifted = Signal(signed(bits)), Signal(signed(bits))
    m = Module()
    beyond = overflows(value, shift, bits)
    m.d.comb += [
        direct.eq(saturated(value, bits)),
        shifted.eq(nearest(shifted_bits(value, shift, bits), beyond, value[-1], bits)),
    ]
    # A clock for the test.
    m.d.sync += Signal().eq(1)
    low, high = ends(bits)
    first, last = ends(width)
    if width < 10:
        numbers = [*range(first, last + 1)]
    else:
        near = {end + more for n in range(1, width + 1) for end in ends(n) for more in (-1, 0, 1)}
        rng = random.Random(width)
        numbers = sorted({one for one in near if first <= one <= last})
        numbers += [rng.randint(first, last) for _ in range(40)]

    async def bench(ctx: Context) -> None:
        for number in numbers:
            ctx.set(value, number)
            assert ctx.get(direct) == min(max(number, low), high)
            for amount in range(1 << SHIFT_BITS):
                ctx.set(shift, amount)
                wanted = min(max(number >> amount, low), high)
                assert ctx.get(shifted) == wanted, (number, amount)
            await ctx.tick()

    simulate(m, bench)

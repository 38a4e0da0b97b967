"""Products of weights and scales: all of them."""

from __future__ import annotations

from amaranth.hdl import Module, Signal

from tandem.hw.rtl.scaled_weight import SCALE_DIGITS, ScaledWeight, digits_of
from tandem.hw.weight_formats import SCALE_BITS
from tests.support.hw.rtl.rtl import Context, simulate


def _with_digits() -> tuple[Module, Signal, ScaledWeight]:
    """A block whose digits are those of a scale."""
    m = Module()
    m.submodules.block = block = ScaledWeight()
    scale = Signal(SCALE_BITS)
    m.d.comb += block.digits.eq(digits_of(scale))
    return m, scale, block


def test_every_product() -> None:
    m, scale, block = _with_digits()

    async def bench(ctx: Context) -> None:
        for weight in range(256):
            ctx.set(block.weight, weight)
            for factor in range(16):
                ctx.set(scale, factor)
                await ctx.delay(1e-9)
                assert ctx.get(block.product) == weight * factor % 256

    simulate(m, bench)


def test_a_plain_weight_is_the_result_whatever_the_scale() -> None:
    m, scale, block = _with_digits()

    async def bench(ctx: Context) -> None:
        for plain in range(256):
            ctx.set(block.plain, plain)
            for factor in range(16):
                ctx.set(scale, factor)
                await ctx.delay(1e-9)
                assert ctx.get(block.product) == plain

    simulate(m, bench)


def test_digits_are_the_scale() -> None:
    scale = Signal(SCALE_BITS)
    digits = Signal(SCALE_DIGITS)
    m = Module()
    m.d.comb += digits.eq(digits_of(scale))

    async def bench(ctx: Context) -> None:
        for value in range(16):
            ctx.set(scale, value)
            await ctx.delay(1e-9)
            units, fours = ctx.get(digits.units), ctx.get(digits.fours)
            assert fours < 3
            assert (0, 1, 2, -1)[units] + 4 * fours + 8 * ctx.get(digits.eight) == value

    simulate(m, bench)

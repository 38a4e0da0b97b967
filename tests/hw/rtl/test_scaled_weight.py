"""Products of weights and scales: all of them."""

from __future__ import annotations

from tandem.hw.rtl.scaled_weight import ScaledWeight
from tests.support.hw.rtl.rtl import Context, simulate


def test_every_product() -> None:
    block = ScaledWeight()

    async def bench(ctx: Context) -> None:
        for weight in range(256):
            ctx.set(block.weight, weight)
            ctx.set(block.thrice, 3 * weight % 256)
            for scale in range(16):
                ctx.set(block.scale, scale)
                await ctx.delay(1e-9)
                assert ctx.get(block.product) == weight * scale % 256

    simulate(block, bench)

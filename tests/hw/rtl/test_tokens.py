"""The token counter against a number."""

from __future__ import annotations

import random

import pytest

from tandem.hw.rtl.tokens import TokenCounter
from tandem.hw.topology import TOKEN_BITS
from tests.support.hw.rtl.rtl import Context, pass_cycles, seeds, simulate

MOST = (1 << TOKEN_BITS) - 1


@pytest.mark.parametrize("seed", seeds(3))
def test_counts(seed: int) -> None:
    rng = random.Random(seed)
    counter = TokenCounter()

    async def bench(ctx: Context) -> None:
        count = 0
        for cycle in range(400):
            push = rng.random() < (0.7 if cycle // 50 % 2 else 0.3)
            # The tokens of this cycle's push are not to be had before the next.
            assert ctx.get(counter.available) == (count > 0)
            pop = count > 0 and rng.random() < 0.5
            ctx.set(counter.push, push)
            ctx.set(counter.pop, pop)
            assert not ctx.get(counter.overflow)
            await ctx.tick()
            count += push - pop

    simulate(counter, bench)


def test_the_token_that_does_not_fit_is_told_and_dropped() -> None:
    counter = TokenCounter()

    async def bench(ctx: Context) -> None:
        ctx.set(counter.push, 1)
        await pass_cycles(ctx, MOST - 1)
        assert not ctx.get(counter.overflow)
        await ctx.tick()
        assert ctx.get(counter.overflow)
        # Given and taken in one cycle: it fits.
        ctx.set(counter.pop, 1)
        assert not ctx.get(counter.overflow)
        await ctx.tick()
        ctx.set(counter.pop, 0)
        assert ctx.get(counter.overflow)
        await ctx.tick()
        ctx.set(counter.push, 0)
        assert not ctx.get(counter.overflow)
        ctx.set(counter.pop, 1)
        await pass_cycles(ctx, MOST - 1)
        assert ctx.get(counter.available)
        await ctx.tick()
        assert not ctx.get(counter.available)

    simulate(counter, bench)

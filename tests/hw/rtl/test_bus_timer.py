"""When a silence is too long, against counting by hand."""

from __future__ import annotations

import random

import pytest

from tandem.hw.rtl.bus_timer import BusTimer
from tests.support.hw.rtl.rtl import Context, seeds, simulate


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 17])
@pytest.mark.parametrize("seed", seeds(2))
def test_so_many_silent_cycles_in_a_row(limit: int, seed: int) -> None:
    """Seen in the second cycle after the last of them, as long as the silence lasts."""
    rng = random.Random(seed)
    timer = BusTimer()
    silent = [rng.random() < 0.9 for _ in range(300)]
    found = []

    async def bench(ctx: Context) -> None:
        ctx.set(timer.limit, limit)
        await ctx.tick()
        for is_silent in silent:
            ctx.set(timer.silent, is_silent)
            found.append(bool(ctx.get(timer.expired)))
            await ctx.tick()

    simulate(timer, bench)
    wanted = []
    for now in range(len(silent)):
        before = silent[max(0, now - 1 - limit) : max(0, now - 1)]
        wanted.append(limit > 0 and len(before) == limit and all(before))
    assert found == wanted
    assert any(found) == (limit > 0)


def test_the_whole_limit_counts() -> None:
    timer = BusTimer()
    most = (1 << len(timer.limit)) - 1

    async def bench(ctx: Context) -> None:
        ctx.set(timer.limit, most)
        await ctx.tick()
        ctx.set(timer.silent, 1)
        for _ in range(50):
            assert not ctx.get(timer.expired)
            await ctx.tick()

    simulate(timer, bench)


def test_a_limit_that_is_set_during_a_silence() -> None:
    """What hangs without a limit can be ended."""
    timer = BusTimer()

    async def bench(ctx: Context) -> None:
        ctx.set(timer.silent, 1)
        for _ in range(30):
            assert not ctx.get(timer.expired)
            await ctx.tick()
        ctx.set(timer.limit, 5)
        for _ in range(5):
            assert not ctx.get(timer.expired)
            await ctx.tick()
        assert ctx.get(timer.expired)

    simulate(timer, bench)

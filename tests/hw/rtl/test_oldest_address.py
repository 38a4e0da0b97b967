"""The address of the oldest burst, against a queue of Python's."""

from __future__ import annotations

import random
from collections import deque

import pytest

from tandem.hw.rtl.oldest_address import OldestAddress
from tests.support.hw.rtl.rtl import Context, seeds, simulate

DEPTH = 8


@pytest.mark.parametrize("seed", seeds(4))
def test_bursts_are_answered_in_order(seed: int) -> None:
    rng = random.Random(seed)
    block = OldestAddress(bits=12, depth=DEPTH)
    issued: deque[int] = deque()
    compared = 0

    async def bench(ctx: Context) -> None:
        nonlocal compared
        newest, cleared, oldest = 0, False, None
        for _ in range(400):
            push = len(issued) < DEPTH and rng.random() < 0.5
            pop = bool(issued) and rng.random() < 0.4
            clear = rng.random() < 0.02
            address = rng.getrandbits(12)
            ctx.set(block.push, push)
            ctx.set(block.address, address)
            ctx.set(block.pop, pop)
            ctx.set(block.clear, clear)
            if oldest is not None:
                assert ctx.get(block.oldest) == oldest
                compared += 1
            oldest = issued[0] if issued else newest if cleared else None
            await ctx.tick()
            if pop:
                issued.popleft()
            if push:
                issued.append(address)
                newest, cleared = address, False
            if clear:
                cleared = cleared or push or bool(newest)
                issued.clear()

    simulate(block, bench)
    assert compared > 100

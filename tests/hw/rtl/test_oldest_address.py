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
    """Held now and then; some payloads come without an address, as orders without a burst do."""
    rng = random.Random(seed)
    block = OldestAddress(bits=12, depth=DEPTH)
    waiting: deque[int | None] = deque()
    compared = 0

    async def bench(ctx: Context) -> None:
        nonlocal compared
        first, last, address = 1, 0, 0
        came = given_up = cleared = False
        oldest: int | None = None
        known = 0
        for _ in range(600):
            push = len(waiting) < DEPTH and rng.random() < 0.5
            pop = bool(waiting) and rng.random() < 0.4
            clear, hold = rng.random() < 0.04, rng.random() < 0.1
            new = rng.getrandbits(12) if rng.random() < 0.7 else None
            ctx.set(block.push, came)
            ctx.set(block.address, address)
            ctx.set(block.clear, clear)
            ctx.set(block.waits, bool(waiting))
            ctx.set(block.first, first % DEPTH)
            ctx.set(block.last, last % DEPTH)
            ctx.set(block.hold, hold)
            if oldest is not None:
                assert ctx.get(block.oldest) == oldest
                compared += 1
            if not hold:
                oldest = waiting[0] if known and waiting else None
                if given_up and not cleared and not waiting:
                    oldest = address
            await ctx.tick()
            cleared, came = clear, push
            # What came in this cycle or the one before is not in the memory in the next one.
            known = 0 if clear else len(waiting) - pop
            if pop:
                waiting.popleft()
                first += 1
            if push:
                waiting.append(new)
                last += 1
                address = address if new is None else new
            given_up = clear or (given_up and not (push and new is not None))
            if clear:
                waiting.clear()
                first, last = 1, 0

    simulate(block, bench)
    assert compared > 100

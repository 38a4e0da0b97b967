"""The queue against a deque."""

from __future__ import annotations

import random
from collections import deque

import pytest

from tandem.hw.rtl.queue import Queue
from tests.support.hw.rtl.rtl import (
    Context,
    Sink,
    Source,
    cycles,
    has,
    only_built,
    refusal,
    seeds,
    simulate,
)

WIDTH = 12


@pytest.mark.parametrize("depth", [-4, 0, 1, 3, 12])
def test_refuses_a_depth_that_block_ram_does_not_have(depth: int) -> None:
    with refusal(rf"queue depth is {depth}: it must be a power of two"):
        Queue(WIDTH, depth)


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("depth", [2, 4, 8, 64])
def test_is_a_deque(depth: int, seed: int) -> None:
    rng = random.Random(seed)
    queue = Queue(WIDTH, depth)

    async def bench(ctx: Context) -> None:
        model: deque[int] = deque()
        eagerness = 0.5, 0.5
        for cycle in range(60 + 6 * depth):
            if cycle % (2 * depth) == 0:
                # It runs full, runs empty, and hovers.
                eagerness = rng.choice(((0.9, 0.2), (0.2, 0.9), (0.6, 0.6), (1.0, 1.0)))
            offers, takes = (rng.random() < chance for chance in eagerness)
            value = rng.getrandbits(WIDTH)
            ctx.set(queue.i.valid, offers)
            ctx.set(queue.i.payload, value)
            ctx.set(queue.o.ready, takes)
            assert ctx.get(queue.level) == len(model)
            assert ctx.get(queue.i.ready) == (len(model) < depth)
            assert ctx.get(queue.o.valid) == bool(model)
            if model:
                assert ctx.get(queue.o.payload) == model[0]
            pushes = offers and len(model) < depth
            if takes and model:
                model.popleft()
            if pushes:
                model.append(value)
            await ctx.tick()

    simulate(queue, bench)


@pytest.mark.parametrize("depth", [2, 16])
def test_moves_one_payload_every_cycle_one_cycle_late(depth: int) -> None:
    rng = random.Random(depth)
    queue = Queue(WIDTH, depth)
    payloads = [rng.getrandbits(WIDTH) for _ in range(3 * depth)]

    async def bench(ctx: Context) -> None:
        source, sink = Source(queue.i, payloads, rng), Sink(queue.o, rng)
        await cycles(ctx, source, sink, until=has(sink.received, len(payloads)))
        assert sink.received == payloads
        assert source.times == list(range(len(payloads)))
        assert sink.times == list(range(1, len(payloads) + 1))

    simulate(queue, bench)


def test_names_tell_shapes_apart() -> None:
    assert only_built(Queue(WIDTH, 4)).variant() == "12x4"
    assert only_built(Queue(range(3), 8)).variant() == "2x8"

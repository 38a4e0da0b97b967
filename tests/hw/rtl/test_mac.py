"""Dot products of signed bytes."""

from __future__ import annotations

import random

import pytest

from tandem.hw.rtl.mac import Mac
from tandem.hw.timing import MAC_RADIX, tree_levels
from tests.support.hw.rtl.rtl import Context, seeds, simulate

BLOCKS = tuple(1 << log for log in range(8))

Vector = list[int]


def packed(vector: Vector) -> int:
    """Element 0 lowest."""
    return int.from_bytes(bytes(value & 0xFF for value in vector), "little")


def stream(block: int, pairs: list[tuple[Vector, Vector]]) -> None:
    """A new pair each cycle; each dot product comes after the tree's depth.

    The products are registered, and every level of the tree but the last.
    """
    mac = Mac(block)
    delay = tree_levels(block)
    assert len(mac.enable) == delay

    async def bench(ctx: Context) -> None:
        ctx.set(mac.enable, -1)
        for cycle in range(len(pairs) + delay):
            if cycle >= delay:
                inp, wgt = pairs[cycle - delay]
                product = sum(a * b for a, b in zip(inp, wgt, strict=True))
                assert ctx.get(mac.dot) == product, f"{inp} . {wgt}"
            if cycle < len(pairs):
                ctx.set(mac.inp, packed(pairs[cycle][0]))
                ctx.set(mac.wgt, packed(pairs[cycle][1]))
            await ctx.tick()

    simulate(mac, bench)


@pytest.mark.parametrize("block", BLOCKS)
def test_extremes(block: int) -> None:
    corners = (-128, -127, -1, 0, 1, 127)
    pairs = [([a] * block, [b] * block) for a in corners for b in corners]
    pairs += [([-128] * (block - 1) + [127], [127] * (block - 1) + [-128])]
    stream(block, pairs)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("block", BLOCKS)
def test_random_vectors(block: int, seed: int) -> None:
    rng = random.Random(seed)

    def vector() -> Vector:
        return [rng.randint(-128, 127) for _ in range(block)]

    stream(block, [(vector(), vector()) for _ in range(24)])


@pytest.mark.parametrize("block", [1, 4, 16])
def test_a_stage_that_is_not_enabled_keeps_what_it_has(block: int) -> None:
    rng = random.Random(block)
    mac = Mac(block)
    stages = tree_levels(block)

    async def bench(ctx: Context) -> None:
        # A model of the stages: what pair each of them holds.
        held: list[int | None] = [None] * stages
        seen = 0
        for _ in range(60):
            inp = [rng.randint(-128, 127) for _ in range(block)]
            wgt = [rng.randint(-128, 127) for _ in range(block)]
            ctx.set(mac.inp, packed(inp))
            ctx.set(mac.wgt, packed(wgt))
            enable = rng.getrandbits(stages)
            ctx.set(mac.enable, enable)
            await ctx.tick()
            product = sum(a * b for a, b in zip(inp, wgt, strict=True))
            taken = [product, *held[:-1]]
            held = [taken[n] if enable >> n & 1 else held[n] for n in range(stages)]
            if held[-1] is not None:
                assert ctx.get(mac.dot) == held[-1]
                seen += 1
        assert seen > 10

    simulate(mac, bench)


def test_levels_of_the_tree() -> None:
    """At least two: ACC is read, and operands are gathered, beside the tree."""
    for block in BLOCKS:
        levels = tree_levels(block)
        assert MAC_RADIX**levels >= block
        assert levels == 2 or MAC_RADIX ** (levels - 1) < block
    assert [tree_levels(block) for block in BLOCKS] == [2, 2, 2, 2, 2, 3, 3, 4]

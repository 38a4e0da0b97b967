"""The loop nest against nested loops."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.isa import Alu, AluOp, Gemm, MemoryId, encode
from hw.rtl.micro_ops import MicroOps, offsets_layout
from tests.support.rtl import Context, seeds, simulate

TINY = load_config("tiny")
CONFIGS = (
    TINY,
    load_config("pynq"),
    TINY.replace(log_inp_buffer=10),
    TINY.replace(log_batch=1),
    TINY.replace(acc_read_ports=1),
)


@dataclass(frozen=True)
class Issue:
    """One micro-op as it goes out."""

    uop: int
    dst: int
    src: int
    wgt: int | None
    last: bool


def expected(loops: Gemm | Alu) -> Iterator[Issue]:
    """In order; an ALU has no weights."""
    for o in range(loops.iter_out):
        for i in range(loops.iter_in):
            for u in range(loops.uop_bgn, loops.uop_end):
                ends = (o + 1, i + 1, u + 1) == (loops.iter_out, loops.iter_in, loops.uop_end)
                weight = None
                if isinstance(loops, Gemm):
                    weight = o * loops.wgt_factor_out + i * loops.wgt_factor_in
                yield Issue(
                    uop=u,
                    dst=o * loops.dst_factor_out + i * loops.dst_factor_in,
                    src=o * loops.src_factor_out + i * loops.src_factor_in,
                    wgt=weight,
                    last=ends,
                )


def random_loops(rng: random.Random, config: HardwareConfig) -> Gemm | Alu:
    """Loops that stay within the memories."""
    uops = config.depth(MemoryId.UOP)
    bgn = rng.choice((0, uops - 1, rng.randrange(uops)))
    end = min(uops, bgn + rng.randint(1, 4))
    out, inner = rng.randint(1, 4), rng.randint(1, 4)

    def factors(memory: MemoryId) -> tuple[int, int]:
        most = config.depth(memory) - 1
        first = rng.randint(0, most // max(1, out - 1))
        first = min(first, most)
        rest = most - first * (out - 1)
        return first, min(rng.randint(0, rest // max(1, inner - 1)), rest)

    dst = factors(MemoryId.ACC)
    common: dict[str, Any] = {
        "uop_bgn": bgn,
        "uop_end": end,
        "iter_out": out,
        "iter_in": inner,
        "dst_factor_out": dst[0],
        "dst_factor_in": dst[1],
    }
    if rng.random() < 0.5:
        src, wgt = factors(MemoryId.INP), factors(MemoryId.WGT)
        return Gemm(
            reset=False,
            src_factor_out=src[0],
            src_factor_in=src[1],
            wgt_factor_out=wgt[0],
            wgt_factor_in=wgt[1],
            **common,
        )
    src = factors(MemoryId.ACC)
    return Alu(
        op=AluOp.ADD,
        use_imm=rng.random() < 0.4,
        imm=rng.randint(-1000, 1000),
        src_factor_out=src[0],
        src_factor_in=src[1],
        **common,
    )


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("config", CONFIGS)
def test_walks_loops_without_a_gap_but_where_acc_has_one_port(
    config: HardwareConfig, seed: int
) -> None:
    rng = random.Random(seed)
    micro_ops = MicroOps(config)
    layout = offsets_layout(config)

    async def bench(ctx: Context) -> None:
        for _ in range(12):
            loops = random_loops(rng, config)
            word = int.from_bytes(encode(config, loops), "little")
            pause = rng.choice((0, 0, 3))
            for _ in range(pause):
                await ctx.tick()
                assert ctx.get(micro_ops.ready)
                assert not ctx.get(micro_ops.valid)
            # Started in the very cycle of the last micro-op before: no gap.
            assert ctx.get(micro_ops.ready)
            ctx.set(micro_ops.start, 1)
            ctx.set(micro_ops.word, word)
            await ctx.tick()
            ctx.set(micro_ops.start, 0)
            ctx.set(micro_ops.word, rng.getrandbits(128))
            two_operands = isinstance(loops, Alu) and not loops.use_imm
            for number, issue in enumerate(expected(loops)):
                if config.acc_read_ports == 1 and two_operands:
                    if number:
                        await ctx.tick()
                    assert not ctx.get(micro_ops.valid)
                    assert not ctx.get(micro_ops.ready)
                    assert ctx.get(micro_ops.active)
                    await ctx.tick()
                elif number:
                    assert not ctx.get(micro_ops.ready)
                    await ctx.tick()
                offsets = layout.from_bits(ctx.get(micro_ops.offsets.as_value()))
                assert ctx.get(micro_ops.valid)
                assert ctx.get(micro_ops.active)
                assert ctx.get(micro_ops.current) == word
                found = Issue(
                    uop=ctx.get(micro_ops.uop),
                    dst=offsets.dst,
                    src=offsets.src,
                    wgt=None if isinstance(loops, Alu) else offsets.wgt,
                    last=bool(ctx.get(micro_ops.last)),
                )
                assert found == issue, f"{loops}, seed {seed}"
                assert ctx.get(micro_ops.ready) == issue.last
        await ctx.tick()
        assert not ctx.get(micro_ops.valid)
        assert not ctx.get(micro_ops.active)

    simulate(micro_ops, bench)


@pytest.mark.parametrize("name", ["dst", "src", "wgt"])
@pytest.mark.parametrize("way", ["out", "in"])
def test_the_first_offset_out_of_bounds_is_told(name: str, way: str) -> None:
    """The largest factor, from an offset as high as legal ones get: it must not wrap."""
    config = TINY
    memories = {"dst": MemoryId.ACC, "src": MemoryId.INP, "wgt": MemoryId.WGT}
    depth = config.depth(memories[name])
    factor = depth - 1
    fields: dict[str, Any] = {
        f"{operand}_factor_{loop}": 0 for operand in ("dst", "src", "wgt") for loop in ("out", "in")
    }
    fields[f"{name}_factor_{way}"] = factor
    counts: dict[str, Any] = {"iter_out": 1, "iter_in": 1} | {f"iter_{way}": 3}
    gemm = Gemm(reset=False, uop_bgn=0, uop_end=1, **counts, **fields)
    micro_ops = MicroOps(config)

    async def bench(ctx: Context) -> None:
        ctx.set(micro_ops.start, 1)
        ctx.set(micro_ops.word, int.from_bytes(encode(config, gemm), "little"))
        await ctx.tick()
        ctx.set(micro_ops.start, 0)
        found = []
        for _ in range(3):
            offsets = offsets_layout(config).from_bits(ctx.get(micro_ops.offsets.as_value()))
            found.append(offsets[name])
            await ctx.tick()
        assert found == [0, factor, 2 * factor]

    simulate(micro_ops, bench)

"""The loop nest against nested loops."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, AluOp, Gemm, MemoryId, Requantise, encode
from tandem.hw.rtl.micro_ops import MicroOps, offsets_layout
from tests.support.hw.rtl.rtl import Context, seeds, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

TINY = load_config("tiny")
CONFIGS = (
    TINY,
    load_config("pynq"),
    TINY.replace(log_inp_buffer=10),
    TINY.replace(log_batch=1),
    TINY.replace(acc_read_ports=1),
    TINY.replace(features=frozenset({Feature.INPUT_OPERANDS})),
    TINY.replace(features=frozenset({Feature.OVERWRITE})),
    TINY.replace(features=frozenset({Feature.REQUANTISE})),
    TINY.replace(features=frozenset(Feature), acc_read_ports=1),
    load_config("pynq").replace(features=frozenset(Feature)),
)
OFF = Requantise(active=False)


@dataclass(frozen=True)
class Issue:
    """One micro-op as it goes out."""

    uop: int
    dst: int
    src: int
    wgt: int | None
    last: bool
    par: int = 0


def expected(loops: Gemm | Alu | Requantise, mode: Requantise = OFF) -> Iterator[Issue | None]:
    """In order; an ALU has no weights, and of a REQUANTISE it is only known that it is issued."""
    if isinstance(loops, Requantise):
        yield None
        return
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
                    par=o * mode.par_factor_out + i * mode.par_factor_in,
                )


def random_mode(rng: random.Random, config: HardwareConfig) -> Requantise:
    """Any fields, but factors with which four times four iterations stay within PAR."""
    most = (config.depth(MemoryId.PAR) - 1) // 6
    return Requantise(
        active=rng.random() < 0.6,
        low=rng.randint(-128, 127),
        high=rng.randint(-128, 127),
        scale=rng.getrandbits(24),
        par_base=rng.randrange(config.depth(MemoryId.PAR)),
        par_factor_out=rng.randint(0, most),
        par_factor_in=rng.randint(0, most),
    )


def random_instruction(rng: random.Random, config: HardwareConfig) -> Gemm | Alu | Requantise:
    """Of any kind that the machine has."""
    if Feature.REQUANTISE in config.features and rng.random() < 0.3:
        return random_mode(rng, config)
    return random_loops(rng, config)


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
    from_inp = Feature.INPUT_OPERANDS in config.features and rng.random() < 0.3
    return Alu(
        op=AluOp.ADD,
        use_imm=not from_inp and rng.random() < 0.4,
        from_inp=from_inp,
        imm=rng.randint(-1000, 1000),
        src_factor_out=src[0],
        src_factor_in=src[1],
        **common,
    )


class Stand:
    """The loop nest, given one instruction after the other; `stalls` says when it may not issue.

    `stalls` is called once for each cycle.
    """

    def __init__(self, config: HardwareConfig, stalls: Callable[[], bool]) -> None:
        self.config = config
        self.layout = offsets_layout(config)
        self.micro_ops = MicroOps(config)
        self.stalls = stalls
        self.noise = random.Random(0)
        self.cycles = 0
        self.requantises = Feature.REQUANTISE in config.features
        self.mode = OFF

    def slots(self, loops: Gemm | Alu | Requantise) -> Iterator[Issue | None]:
        """The micro-ops of an instruction, and, with one read port, the empty cycles."""
        two = isinstance(loops, Alu) and not (loops.use_imm or loops.from_inp)
        for issue in expected(loops, self.mode):
            if self.config.acc_read_ports == 1 and two:
                yield None
            yield issue

    def compare_mode(self, ctx: Context) -> None:
        """What the last REQUANTISE said, but limits that clip nothing if the mode is off."""
        if not self.requantises:
            return
        found, mode = self.micro_ops.mode, self.mode
        assert ctx.get(found.active) == mode.active
        limits = (mode.low, mode.high) if mode.active else (-128, 127)
        assert (ctx.get(found.low), ctx.get(found.high)) == limits
        assert ctx.get(found.scale) == mode.scale
        assert ctx.get(found.par_base) == mode.par_base

    def begin(self, ctx: Context) -> bool:
        """Begin a cycle; returns whether it is a stall."""
        stall = self.stalls()
        ctx.set(self.micro_ops.stall, stall)
        self.cycles += 1
        return stall

    async def idle(self, ctx: Context, cycles: int) -> None:
        """Nothing is in progress."""
        for _ in range(cycles):
            self.begin(ctx)
            assert ctx.get(self.micro_ops.ready)
            assert not ctx.get(self.micro_ops.valid)
            assert not ctx.get(self.micro_ops.active)
            await ctx.tick()

    async def start(self, ctx: Context, loops: Gemm | Alu | Requantise) -> None:
        """Start an instruction in the cycle that has begun, the last of the one before or idle."""
        assert ctx.get(self.micro_ops.ready)
        ctx.set(self.micro_ops.start, 1)
        ctx.set(self.micro_ops.word, int.from_bytes(encode(self.config, loops), "little"))
        await ctx.tick()
        ctx.set(self.micro_ops.start, 0)
        ctx.set(self.micro_ops.word, self.noise.getrandbits(128))

    async def walk(self, ctx: Context, loops: Gemm | Alu | Requantise) -> None:
        """Compare every cycle of an instruction, from the first to that of its last micro-op."""
        micro_ops = self.micro_ops
        word = int.from_bytes(encode(self.config, loops), "little")
        for place, slot in enumerate(self.slots(loops)):
            if place:
                await ctx.tick()
            while self.begin(ctx):
                self.compare_mode(ctx)
                assert not ctx.get(micro_ops.valid)
                assert not ctx.get(micro_ops.ready)
                assert ctx.get(micro_ops.active)
                await ctx.tick()
            assert ctx.get(micro_ops.active)
            self.compare_mode(ctx)
            assert ctx.get(micro_ops.valid) == (slot is not None or isinstance(loops, Requantise))
            last = isinstance(loops, Requantise) or (slot is not None and slot.last)
            assert ctx.get(micro_ops.ready) == last
            assert ctx.get(micro_ops.current) == word
            if isinstance(loops, Requantise):
                assert ctx.get(micro_ops.last)
                self.mode = loops
            if slot is None:
                continue
            offsets = self.layout.from_bits(ctx.get(micro_ops.offsets.as_value()))
            found = Issue(
                uop=ctx.get(micro_ops.uop),
                dst=offsets.dst,
                src=offsets.src,
                wgt=None if isinstance(loops, Alu) else offsets.wgt,
                last=bool(ctx.get(micro_ops.last)),
                par=offsets.par if self.requantises else 0,
            )
            assert found == slot, str(loops)

    async def run(self, ctx: Context, program: Sequence[Gemm | Alu | Requantise]) -> None:
        """Instructions without a gap: each starts in the cycle of the last micro-op before."""
        self.begin(ctx)
        for loops in program:
            await self.start(ctx, loops)
            await self.walk(ctx, loops)
        await ctx.tick()
        await self.idle(ctx, 2)


@pytest.mark.parametrize("stalls", [0.0, 0.4])
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("config", CONFIGS)
def test_walks_loops_without_a_gap_but_where_acc_has_one_port(
    config: HardwareConfig, seed: int, stalls: float
) -> None:
    """And but for stalls, in which nothing is issued."""
    rng, chance = random.Random(seed), random.Random(f"stalls {seed}")
    stand = Stand(config, lambda: chance.random() < stalls)

    async def bench(ctx: Context) -> None:
        stand.begin(ctx)
        for _ in range(16):
            loops = random_instruction(rng, config)
            pause = rng.choice((0, 0, 3))
            if pause:
                await ctx.tick()
                await stand.idle(ctx, pause)
                stand.begin(ctx)
            await stand.start(ctx, loops)
            await stand.walk(ctx, loops)
        await ctx.tick()
        await stand.idle(ctx, 1)
        stand.compare_mode(ctx)

    simulate(stand.micro_ops, bench)


def nest(uop_bgn: int, uops: int, iter_in: int, iter_out: int, *, alu: bool) -> Gemm | Alu:
    """A loop nest in which every loop has another factor."""
    common: dict[str, Any] = {
        "uop_bgn": uop_bgn,
        "uop_end": uop_bgn + uops,
        "iter_out": iter_out,
        "iter_in": iter_in,
        "dst_factor_out": 3,
        "dst_factor_in": 1,
        "src_factor_out": 1,
        "src_factor_in": 2,
    }
    if alu:
        return Alu(op=AluOp.ADD, use_imm=False, imm=0, **common)
    return Gemm(reset=False, wgt_factor_out=2, wgt_factor_in=1, **common)


@pytest.mark.parametrize("alu", [False, True], ids=["GEMM", "ALU"])
@pytest.mark.parametrize("config", [TINY, TINY.replace(acc_read_ports=1)], ids=["two", "one"])
def test_every_small_loop_ends_with_its_last_micro_op(config: HardwareConfig, alu: bool) -> None:
    """At the first micro-op, in the middle and at the end of their memory; none with a gap."""
    depth, few = config.depth(MemoryId.UOP), range(1, 5)
    program = [
        nest(first, uops, iter_in, iter_out, alu=alu)
        for iter_out in few
        for iter_in in few
        for uops in few
        for first in {0, 5, depth - uops}
    ]
    random.Random(1).shuffle(program)
    stand = Stand(config, lambda: False)

    async def bench(ctx: Context) -> None:
        await stand.run(ctx, program)

    simulate(stand.micro_ops, bench)


STALLED = {
    "two": TINY,
    "one": TINY.replace(acc_read_ports=1),
    "extended": TINY.replace(features=frozenset(Feature)),
}


@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize("alu", [False, True], ids=["GEMM", "ALU"])
@pytest.mark.parametrize("config", STALLED.values(), ids=STALLED)
def test_a_stall_in_any_cycle_neither_loses_nor_doubles_a_micro_op(
    config: HardwareConfig, alu: bool, length: int
) -> None:
    """From the cycle of the start, while nothing is in progress, to the cycle after the end."""
    program: list[Gemm | Alu | Requantise] = [
        nest(2, 2, 2, 2, alu=alu),
        nest(0, 1, 1, 1, alu=alu),
        nest(1, 1, 3, 1, alu=not alu),
        nest(3, 3, 1, 1, alu=alu),
    ]
    if Feature.REQUANTISE in config.features:
        mode = Requantise(active=True, par_factor_out=2, par_factor_in=1)
        program[1:1] = [mode, replace(mode, low=3, par_factor_in=2)]
    schedule: list[bool] = []
    stand = Stand(config, lambda: bool(schedule) and schedule.pop(0))
    total = 1 + sum(len(list(stand.slots(loops))) for loops in program) + 2

    async def bench(ctx: Context) -> None:
        for cycle in range(total):
            schedule[:] = [False] * cycle + [True] * length
            before = stand.cycles
            await stand.run(ctx, program)
            # A stall while nothing is in progress costs no cycle.
            in_progress = 1 <= cycle < total - 2
            costs = length if in_progress else length - 1 if cycle == 0 else 0
            assert stand.cycles - before == total + costs
            schedule.clear()

    simulate(stand.micro_ops, bench)


def test_a_reset_turns_the_mode_off() -> None:
    """Whatever a REQUANTISE said before: so it is at a launch."""
    config = TINY.replace(features=frozenset(Feature))
    stand = Stand(config, lambda: False)
    reset = Signal()
    word = Requantise(active=True, low=-5, high=7, scale=9, par_base=3, par_factor_in=1)

    async def bench(ctx: Context) -> None:
        await stand.run(ctx, [word])
        stand.compare_mode(ctx)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        stand.mode = OFF
        stand.compare_mode(ctx)

    simulate(ResetInserter(reset)(stand.micro_ops), bench)


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


@pytest.mark.parametrize("way", ["out", "in"])
def test_the_first_offset_beyond_par_is_told(way: str) -> None:
    """The largest factor: it must not wrap."""
    config = TINY.replace(features=frozenset(Feature))
    factor = config.depth(MemoryId.PAR) - 1
    factors: dict[str, Any] = {"par_factor_out": 0, "par_factor_in": 0}
    mode = Requantise(active=True, **(factors | {f"par_factor_{way}": factor}))
    loops = nest(0, 1, 3, 1, alu=True) if way == "in" else nest(0, 1, 1, 3, alu=True)
    micro_ops = MicroOps(config)

    async def bench(ctx: Context) -> None:
        for instruction in (mode, loops):
            ctx.set(micro_ops.start, 1)
            word = encode(config, instruction)
            ctx.set(micro_ops.word, int.from_bytes(word, "little"))
            await ctx.tick()
        ctx.set(micro_ops.start, 0)
        found = []
        for _ in range(3):
            found.append(ctx.get(micro_ops.offsets.par))
            await ctx.tick()
        assert found == [0, factor, 2 * factor]

    simulate(micro_ops, bench)

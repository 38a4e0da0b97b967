"""The compute unit against the reference machine."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.errors import ProgramError
from hw.isa import (
    Alu,
    AluOp,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Tokens,
    encode,
    pack_uops,
)
from hw.rtl.compute import ComputeUnit
from hw.rtl.layouts import queued_layout
from hw.timing import pipeline_depth
from tests.support.reference import Image, ReferenceMachine
from tests.support.rtl import (
    Agent,
    Context,
    ElementMemory,
    Source,
    StatusLog,
    TokenSide,
    Watch,
    bits,
    cycle,
    cycles,
    has,
    seeds,
    simulate,
)
from tests.support.rtl_bus import PortMemory

TINY = load_config("tiny")
SINGLE = TINY.replace(
    log_block_in=0, log_block_out=0, log_inp_buffer=5, log_wgt_buffer=5, log_acc_buffer=7
)
ONE_PORT = SINGLE.replace(acc_read_ports=1)
BATCH = TINY.replace(log_batch=1, log_block_in=3, log_block_out=1, log_acc_buffer=8)
CONFIGS = {"tiny": TINY, "single": SINGLE, "one_port": ONE_PORT, "batch": BATCH}
BASES = {memory: 0x400 * (memory + 1) for memory in MemoryId}
MEMORY_BYTES = 1 << 13
UOPS = 16
"""Micro-ops that the random programs choose from, at the start of the micro-op memory."""
FIRST_INDEX = 3000

TOKEN_NAMES = ("pop_prev", "pop_next", "push_prev", "push_next")

Draw = Callable[[random.Random, HardwareConfig], Instruction]


def random_image(rng: random.Random, config: HardwareConfig) -> Image:
    """Random bytes; where micro-ops are loaded from, ones with small indices."""
    image = np.frombuffer(bytearray(rng.randbytes(MEMORY_BYTES)), np.uint8)
    few = 4
    uops = [MicroOp(rng.randrange(few), rng.randrange(few), rng.randrange(few)) for _ in range(64)]
    packed = pack_uops(config, uops)
    image[BASES[MemoryId.UOP] : BASES[MemoryId.UOP] + len(packed)] = np.frombuffer(packed, np.uint8)
    return image


def random_tokens(rng: random.Random) -> Tokens:
    return Tokens(**{name: rng.random() < 0.25 for name in TOKEN_NAMES})


def random_load(rng: random.Random, config: HardwareConfig) -> Load:
    """Micro-ops or accumulators, some of them with padding, some empty."""
    memory = rng.choice((MemoryId.UOP, MemoryId.ACC, MemoryId.ACC_8BIT))
    x_size = rng.choice((0, 1, 3, 5))
    depth = UOPS if memory is MemoryId.UOP else 4
    pad = rng.choice((0, 0, 1)) if x_size else 0
    width = x_size + pad
    base = rng.randrange(max(1, depth - width + 1))
    return Load(
        memory=memory,
        sram_base=base,
        dram_base=rng.randrange(32),
        y_size=1,
        x_size=x_size,
        x_stride=0,
        x_pad_1=pad,
        tokens=random_tokens(rng),
    )


def random_loops(rng: random.Random, config: HardwareConfig) -> Gemm | Alu:
    """Few accumulators, so that results are needed as soon as they are made."""
    bgn = rng.randrange(UOPS)
    factors = {
        f"{name}_factor_{way}": rng.choice((0, 0, 1))
        for name in ("dst", "src")
        for way in ("out", "in")
    }
    common: dict[str, Any] = {
        "uop_bgn": bgn,
        "uop_end": rng.randint(bgn + 1, min(UOPS, bgn + 4)),
        "iter_out": rng.randint(1, 3),
        "iter_in": rng.randint(1, 3),
        "tokens": random_tokens(rng),
        **factors,
    }
    if rng.random() < 0.5:
        weights: dict[str, Any] = {
            "wgt_factor_out": rng.choice((0, 1)),
            "wgt_factor_in": rng.choice((0, 1)),
        }
        return Gemm(reset=rng.random() < 0.2, **weights, **common)
    op = rng.choice(list(AluOp))
    limit = 31 if op is AluOp.SHR else 32767
    imm = rng.randint(-limit, limit)
    return Alu(op=op, use_imm=rng.random() < 0.4, imm=imm, **common)


class Stand:
    """A compute unit with its queue, tokens and memories."""

    def __init__(
        self,
        config: HardwareConfig,
        program: list[Instruction],
        image: Image,
        machine: ReferenceMachine,
        rng: random.Random,
        offers: float = 1.0,
        **memory_options: Any,
    ) -> None:
        self.config = config
        self.program = program
        self.unit = unit = ComputeUnit(config)
        words = [
            bits(
                queued_layout(),
                word=int.from_bytes(encode(config, instruction), "little"),
                index=FIRST_INDEX + place,
            )
            for place, instruction in enumerate(program)
        ]
        pops = [
            sum(getattr(instruction.tokens, name) for instruction in program)
            for name in ("pop_prev", "pop_next")
        ]
        self.prev = TokenSide(unit.prev, rng, pops[0], offers)
        self.next = TokenSide(unit.next, rng, pops[1], offers)
        self.memory = PortMemory(config, unit.port, image.tobytes(), rng, **memory_options)
        self.status = StatusLog(unit.status)
        inp = (unit.array_enable, unit.inp_address, unit.inp_data)
        wgt = (unit.array_enable, unit.wgt_address, unit.wgt_data)
        self.agents: tuple[Agent, ...] = (
            Source(unit.queue, words, rng, offers),
            self.prev,
            self.next,
            self.memory,
            ElementMemory(inp, [each.tobytes() for each in machine.inp], rng),
            ElementMemory(wgt, [each.tobytes() for each in machine.wgt], rng),
            self.status,
        )

    async def begin(self, ctx: Context) -> None:
        for memory, base in BASES.items():
            ctx.set(self.unit.bases[memory.name.lower()], base)

    async def finish(self, ctx: Context) -> None:
        """Run to the end of the last instruction."""
        total = len(self.program)
        await cycles(ctx, *self.agents, until=has(self.status.ends, total), limit=20000)
        await cycle(ctx, *self.agents)

    async def out(self, ctx: Context) -> list[int]:
        """Every element of OUT."""
        found = []
        ctx.set(self.unit.out_enable, 1)
        for address in range(self.config.depth(MemoryId.OUT)):
            ctx.set(self.unit.out_address, address)
            await ctx.tick()
            found.append(int(ctx.get(self.unit.out_data)))
        return found


def fresh_machine(config: HardwareConfig, rng: random.Random) -> ReferenceMachine:
    """INP and WGT filled, for the unit reads and does not load them."""
    machine = ReferenceMachine(config, BASES)
    values = np.random.default_rng(rng.randrange(1 << 30))
    machine.inp[:] = values.integers(-128, 128, machine.inp.shape, np.int8)
    machine.wgt[:] = values.integers(-128, 128, machine.wgt.shape, np.int8)
    return machine


def shift_all(config: HardwareConfig) -> Alu:
    """The next byte of every accumulator moves to the bottom, where OUT shows it."""
    return Alu(
        op=AluOp.SHR,
        use_imm=True,
        imm=8,
        uop_bgn=UOPS,
        uop_end=UOPS + 1,
        iter_out=config.depth(MemoryId.ACC),
        iter_in=1,
        dst_factor_out=1,
        dst_factor_in=0,
        src_factor_out=0,
        src_factor_in=0,
    )


def random_program(
    rng: random.Random, config: HardwareConfig, machine: ReferenceMachine, image: Image, size: int
) -> list[Instruction]:
    """Legal instructions, executed on `machine` as they are drawn."""
    first = Load(
        memory=MemoryId.UOP,
        sram_base=0,
        dram_base=0,
        y_size=1,
        x_size=UOPS,
        x_stride=0,
        # Behind the micro-ops that programs use lies one of zeros, for `shift_all`.
        x_pad_1=1,
    )
    program: list[Instruction] = [first]
    machine.step(first, image)
    draws: tuple[Draw, ...] = (random_load, random_loops, random_loops, random_loops)
    while len(program) < size:
        instruction = rng.choice(draws)(rng, config)
        attempt = copy.deepcopy(machine)
        try:
            attempt.step(instruction, image)
        except ProgramError:
            continue
        machine.acc[:], machine.uop[:] = attempt.acc, attempt.uop
        program.append(instruction)
    return program


def compare_tokens(stand: Stand) -> None:
    """Every instruction in order; pops when it starts, pushes when it ends."""
    indices = [FIRST_INDEX + place for place in range(len(stand.program))]
    assert len(stand.status.starts) == len(indices)
    assert [index for index, _ in stand.status.ends] == indices
    starts, ends = stand.status.starts, [time for _, time in stand.status.ends]
    for name, times, found in (
        ("pop_prev", starts, stand.prev.pops),
        ("pop_next", starts, stand.next.pops),
        ("push_prev", ends, stand.prev.pushes),
        ("push_next", ends, stand.next.pushes),
    ):
        wanted = [
            time
            for time, instruction in zip(times, stand.program, strict=True)
            if getattr(instruction.tokens, name)
        ]
        assert found == wanted, name
        assert [time for event, time in stand.status.events if event == name] == wanted


def run_random(config: HardwareConfig, seed: int, size: int) -> None:
    """A random program; one byte of each accumulator is compared, which one the seed says."""
    rng = random.Random(seed)
    part = seed % 4
    image = random_image(rng, config)
    machine = fresh_machine(config, rng)
    program = random_program(rng, config, machine, image, size)
    program += [shift_all(config)] * part
    stand = Stand(
        config,
        program,
        image,
        machine,
        rng,
        rng.choice((0.3, 1.0)),
        latency=range(1, 9),
        pause=rng.choice((0.0, 0.3)),
    )

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        assert ctx.get(stand.unit.status.quiet)
        compare_tokens(stand)
        wanted = [(each >> 8 * part).astype(np.int8).tobytes() for each in machine.acc]
        assert await stand.out(ctx) == [int.from_bytes(each, "little") for each in wanted]

    simulate(stand.unit, bench)


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_random_programs(config: HardwareConfig, seed: int) -> None:
    run_random(config, seed, 24)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(24))
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_long_random_programs(config: HardwareConfig, seed: int) -> None:
    run_random(config, seed + 1, 200)


ADD_ONE = Alu(
    op=AluOp.ADD,
    use_imm=True,
    imm=1,
    uop_bgn=0,
    uop_end=1,
    iter_out=1,
    iter_in=1,
    dst_factor_out=0,
    dst_factor_in=0,
    src_factor_out=0,
    src_factor_in=0,
)
LOAD_UOPS = Load(memory=MemoryId.UOP, sram_base=0, dram_base=0, y_size=1, x_size=4, x_stride=4)


def small_stand(
    program: list[Instruction],
    uops: list[MicroOp],
    config: HardwareConfig = TINY,
    **options: Any,
) -> Stand:
    """A program over these micro-ops, which it loads first."""
    rng = random.Random(0)
    image = np.zeros(MEMORY_BYTES, np.uint8)
    packed = np.frombuffer(pack_uops(config, uops), np.uint8)
    image[BASES[MemoryId.UOP] :][: len(packed)] = packed
    machine = fresh_machine(config, rng)
    return Stand(config, [LOAD_UOPS, *program], image, machine, rng, **options)


def test_time_of_loops() -> None:
    """No cycle is lost between instructions; each ends with its last write."""
    lengths = [1, 1, 3, 1, 12, 2]
    program: list[Instruction] = [
        replace(ADD_ONE, iter_in=length, tokens=Tokens(push_next=True)) for length in lengths
    ]
    stand = small_stand(program, [MicroOp(0, 0, 0)])

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        compare_tokens(stand)
        starts = stand.status.starts
        ends = [time for _, time in stand.status.ends]
        assert starts[1] == ends[0] + 1
        for place, length in enumerate(lengths, start=1):
            assert ends[place] == starts[place] + length + pipeline_depth(TINY)
            if place < len(lengths):
                assert starts[place + 1] == starts[place] + length
        # All of them hit the same accumulator.
        assert (await stand.out(ctx))[0] & 0xFF == sum(lengths)

    simulate(stand.unit, bench)


@pytest.mark.parametrize("op", [AluOp.MUL, AluOp.SHR])
def test_time_of_stalls(op: AluOp) -> None:
    """Each product or shift waits two cycles, in which nothing is issued."""
    change = replace(ADD_ONE, op=op, imm=3 if op is AluOp.MUL else -1)
    program: list[Instruction] = [
        replace(change, iter_in=3, tokens=Tokens(push_next=True)),
        replace(ADD_ONE, iter_in=2, tokens=Tokens(push_prev=True)),
        replace(change, iter_in=1, tokens=Tokens(push_next=True)),
        replace(LOAD_UOPS, x_size=0),
    ]
    stand = small_stand([ADD_ONE, *program], [MicroOp(0, 0, 0)])

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        compare_tokens(stand)
        one, products, sums, product, empty = stand.status.starts[1:]
        ends = [time for _, time in stand.status.ends[1:]]
        depth = pipeline_depth(TINY)
        assert products == one + 1
        # The products are issued in +1, +2 and +3 and are in stage 3 in +4 to +6, in +7 to +9, in
        # +10 to +12; the sums are issued in +6 and +9, not in the stalls +4, +5, +7 and +8; the
        # last product is issued in +12, not in the stalls +10 and +11, and is in stage 3 from +15.
        assert sums == products + 3
        assert product == products + 9
        assert empty == ends[3] + 1
        assert ends == [
            one + 1 + depth,
            products + 3 + depth + 6,
            products + 9 + depth + 2,
            products + 12 + depth + 2,
            empty + 1,
        ]
        factor = 3 if op is AluOp.MUL else 2
        assert (await stand.out(ctx))[0] & 0xFF == (factor**3 + 2) * factor

    simulate(stand.unit, bench)


@pytest.mark.parametrize("config", [TINY, TINY.replace(acc_read_ports=1)], ids=["two", "one"])
def test_time_of_a_second_operand(config: HardwareConfig) -> None:
    """A sum of two accumulators waits for one ahead, and less where an empty cycle is between."""
    uops = [MicroOp(0, 0, 0), MicroOp(0, 1, 0), MicroOp(1, 0, 0)]
    total = replace(ADD_ONE, use_imm=False, uop_bgn=1, uop_end=3)
    stand = small_stand([ADD_ONE, replace(total, iter_in=2)], uops, config=config)

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        one, sums = stand.status.starts[1:]
        ends = [time for _, time in stand.status.ends[1:]]
        assert sums == one + 1
        # 0 += 1, 1 += 0, 0 += 1, 1 += 0: all but the first wait.
        cycles = 4 + 3 * 2 if config.acc_read_ports == 2 else 8 + 3 * 1
        assert ends == [one + 1 + pipeline_depth(config), sums + cycles + pipeline_depth(config)]
        a, b = 1, 0
        for _ in range(2):
            a, b = a + b, a + b + b
        assert [element & 0xFF for element in (await stand.out(ctx))[:2]] == [a, b]

    simulate(stand.unit, bench)


def test_everything_else_has_the_pipeline_for_itself() -> None:
    empty = replace(LOAD_UOPS, x_size=0)
    program: list[Instruction] = [ADD_ONE, LOAD_UOPS, ADD_ONE, empty, Finish()]
    stand = small_stand(program, [MicroOp(0, 0, 0)])

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        assert not ctx.get(stand.unit.finished)
        await stand.finish(ctx)
        starts = stand.status.starts
        ends = [time for _, time in stand.status.ends]
        # A LOAD waits for the last write, and what follows for the LOAD's last.
        assert starts[2] == ends[1] + 1
        assert starts[3] == ends[2] + 1
        assert starts[4] == ends[3] + 1
        # Without data: ends a cycle after its start.
        assert ends[4] == starts[4] + 1
        assert (starts[5], ends[5]) == (ends[4] + 1, ends[4] + 2)
        assert ctx.get(stand.unit.finished)

    simulate(stand.unit, bench)


def test_states() -> None:
    """Waiting for memory, busy, waiting for two tokens, idle."""
    program: list[Instruction] = [replace(ADD_ONE, tokens=Tokens(pop_prev=True, pop_next=True))]
    stand = small_stand(program, [MicroOp(0, 0, 0)], latency=range(10, 11))
    stand.prev.left = stand.next.left = 0

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycle(ctx, *stand.agents, count=25)
        status = stand.unit.status
        assert ctx.get(status.waits) == 0b11
        assert ctx.get(status.index) == FIRST_INDEX + 1
        stand.next.left = 1
        await cycle(ctx, *stand.agents, count=2)
        assert ctx.get(status.waits) == 0b01
        stand.prev.left = 1
        await stand.finish(ctx)
        # Started in 0; asked for in 2; two beats come in 12 and 13, each for two micro-ops.
        states = ["busy"] * 2 + ["memory"] * 11 + ["busy"] * 4 + ["token"] * 11
        states += ["busy"] * (2 + pipeline_depth(TINY)) + ["idle"]
        assert stand.status.states == states

    simulate(stand.unit, bench)


def test_an_index_out_of_bounds_is_told() -> None:
    beyond = replace(ADD_ONE, iter_in=3, dst_factor_in=20)
    stand = small_stand([ADD_ONE, beyond, ADD_ONE], [MicroOp(0, 0, 0)])
    found = []

    def look(ctx: Context) -> None:
        unit = stand.unit
        assert not ctx.get(unit.bad_shift)
        if ctx.get(unit.bad_index):
            found.append((ctx.get(unit.fault_index), stand.status.now))

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycle(ctx, Watch(look), *stand.agents, count=60)
        # 0, 20, 40: the third, two cycles after its issue, which is the third after the start.
        assert found == [(FIRST_INDEX + 2, stand.status.starts[2] + 3 + 2)]

    simulate(stand.unit, bench)


def test_a_shift_too_far_is_told() -> None:
    """By an accumulator that an instruction right before has set to 32."""
    grow = replace(ADD_ONE, imm=32)
    shift = replace(ADD_ONE, op=AluOp.SHR, use_imm=False)
    stand = small_stand([grow, shift], [MicroOp(0, 0, 0)])
    found = []

    def look(ctx: Context) -> None:
        unit = stand.unit
        assert not ctx.get(unit.bad_index)
        if ctx.get(unit.bad_shift):
            found.append(ctx.get(unit.fault_index))

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycle(ctx, Watch(look), *stand.agents, count=60)
        assert found == [FIRST_INDEX + 2]
        assert (await stand.out(ctx))[0] & 0xFF == 32

    simulate(stand.unit, bench)


def test_halt_starts_nothing_more() -> None:
    program: list[Instruction] = [replace(ADD_ONE, iter_in=4) for _ in range(5)]
    stand = small_stand(program, [MicroOp(0, 0, 0)])

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycles(ctx, *stand.agents, until=has(stand.status.starts, 3))
        ctx.set(stand.unit.halt, 1)
        await cycle(ctx, *stand.agents, count=40)
        assert len(stand.status.starts) == 3
        assert ctx.get(stand.unit.status.quiet)

    simulate(stand.unit, bench)

"""The compute unit: its times, states, faults and halt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import (
    AluOp,
    Finish,
    Instruction,
    MicroOp,
    Tokens,
)
from tandem.hw.timing import pipeline_depth
from tests.support.hw.rtl.compute_stand import ADD_ONE, FIRST_INDEX, LOAD_UOPS, small_stand
from tests.support.hw.rtl.rtl import (
    Context,
    Watch,
    cycle,
    cycles,
    has,
    simulate,
)

TINY = load_config("tiny")


def test_time_of_loops() -> None:
    """No cycle is lost between instructions; each ends with its last write."""
    lengths = [1, 1, 3, 1, 12, 2]
    program: list[Instruction] = [
        replace(ADD_ONE, iter_in=length, tokens=Tokens(push_next=True)) for length in lengths
    ]
    stand = small_stand(program, [MicroOp(0, 0, 0)], TINY)

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        stand.compare_tokens()
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
    stand = small_stand([ADD_ONE, *program], [MicroOp(0, 0, 0)], TINY)

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        stand.compare_tokens()
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
    stand = small_stand([ADD_ONE, replace(total, iter_in=2)], uops, config)

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
    stand = small_stand(program, [MicroOp(0, 0, 0)], TINY)

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
    stand = small_stand(program, [MicroOp(0, 0, 0)], TINY, latency=range(10, 11))
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
    stand = small_stand([ADD_ONE, beyond, ADD_ONE], [MicroOp(0, 0, 0)], TINY)
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
    stand = small_stand([grow, shift], [MicroOp(0, 0, 0)], TINY)
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
    stand = small_stand(program, [MicroOp(0, 0, 0)], TINY)

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycles(ctx, *stand.agents, until=has(stand.status.starts, 3))
        ctx.set(stand.unit.halt, 1)
        await cycle(ctx, *stand.agents, count=40)
        assert len(stand.status.starts) == 3
        assert ctx.get(stand.unit.status.quiet)

    simulate(stand.unit, bench)

"""Compute with all extensions: times that the stages between ACC and OUT add, and modes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import (
    AluOp,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Requantise,
    Tokens,
)
from tandem.hw.timing import OUT_STAGES, out_delay, pipeline_depth
from tests.support.hw.rtl.compute_stand import ADD_ONE, FIRST_INDEX, LOAD_UOPS, small_stand
from tests.support.hw.rtl.rtl import Context, Watch, cycle, cycles, has, simulate

TINY = load_config("tiny")
CONFIG = TINY.replace(features=frozenset(Feature))
ONLY = TINY.replace(features=frozenset({Feature.REQUANTISE}))
DEPTH = pipeline_depth(CONFIG)
ZERO = [MicroOp(0, 0, 0)]
ON = Requantise(active=True, low=-3, high=5)
RESIDUAL = replace(ADD_ONE, op=AluOp.RESIDUAL, use_imm=False, from_inp=True)
GEMM = Gemm(
    reset=False,
    uop_bgn=0,
    uop_end=1,
    iter_out=1,
    iter_in=1,
    dst_factor_out=0,
    dst_factor_in=0,
    src_factor_out=0,
    src_factor_in=0,
    wgt_factor_out=0,
    wgt_factor_in=0,
)


def times(
    config: HardwareConfig, program: Sequence[Instruction]
) -> tuple[list[int], list[int], list[str]]:
    """The cycles in which instructions start and end, behind a LOAD, and the unit's states.

    Counted from that LOAD's end.
    """
    stand = small_stand(program, ZERO, config)

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        await cycle(ctx, *stand.agents, count=4)
        assert ctx.get(stand.unit.status.quiet)
        stand.compare_tokens()

    simulate(stand.unit, bench)
    first = stand.status.ends[0][1]
    starts = [time - first for time in stand.status.starts[1:]]
    ends = [time - first for _, time in stand.status.ends[1:]]
    return starts, ends, stand.status.states[first:]


@pytest.mark.parametrize("config", [CONFIG, ONLY], ids=["extended", "requantise"])
def test_a_loop_starts_as_before_and_ends_later(config: HardwareConfig) -> None:
    """Without a gap, a REQUANTISE too, with the tokens at the end."""
    both = Tokens(push_prev=True, push_next=True)
    program: list[Instruction] = [
        replace(ADD_ONE, iter_in=3, tokens=both),
        replace(ON, tokens=both),
        ADD_ONE,
        ON,
        replace(ON, tokens=both),
        replace(GEMM, iter_in=2),
    ]
    starts, ends, _ = times(config, program)
    assert out_delay(config) == OUT_STAGES
    # The LOAD has written the micro-ops, and its end waits for stages that it does not use.
    first = 1 - OUT_STAGES
    assert starts == [first + place for place in (0, 3, 4, 5, 6, 7)]
    assert ends == [first + last + DEPTH + OUT_STAGES for last in (3, 4, 5, 6, 7, 9)]


def test_everything_else_starts_when_acc_is_written() -> None:
    """And ends when OUT is: before it, something else may have started."""
    empty = replace(LOAD_UOPS, x_size=0)
    program: list[Instruction] = [ADD_ONE, empty, ON, ADD_ONE, LOAD_UOPS, empty, ADD_ONE, Finish()]
    starts, ends, states = times(CONFIG, program)
    written = [end - OUT_STAGES for end in ends]
    assert starts[0] == 1 - OUT_STAGES
    assert starts[1] == written[0] + 1
    assert (written[1], starts[2]) == (starts[1] + 1, written[1] + 1)
    assert starts[3] == starts[2] + 1
    assert (starts[4], starts[5]) == (written[3] + 1, written[4] + 1)
    assert (starts[6], starts[7]) == (written[5] + 1, written[6] + 1)
    assert ends[-1] == starts[-1] + 1 + OUT_STAGES
    # Busy to the last end, but for the cycles in which the LOAD has no data.
    last = ends[-1]
    assert set(states[: last + 1]) == {"busy", "memory"}
    assert set(states[last + 1 :]) == {"idle"}


def test_finish_is_executed_when_it_ends() -> None:
    stand = small_stand([ADD_ONE, Finish()], ZERO, CONFIG)
    found: list[int] = []

    def look(ctx: Context) -> None:
        if ctx.get(stand.unit.finished):
            found.append(stand.status.now)

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycle(ctx, Watch(look), *stand.agents, count=60)
        assert found[0] == stand.status.ends[-1][1] + 1

    simulate(stand.unit, bench)


LAST = {
    "ALU": ADD_ONE,
    "GEMM": replace(GEMM, reset=True),
    **{
        memory.name: Load(memory=memory, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
        for memory in (MemoryId.ACC, MemoryId.ACC_8BIT)
    },
}


@pytest.mark.parametrize("last", LAST.values(), ids=LAST)
def test_out_is_written_when_a_store_can_read_it(last: Instruction) -> None:
    """A STORE that has waited for the token reads two cycles after the end at the earliest."""
    one = sum(1 << 8 * lane for lane in range(CONFIG.acc_lanes))
    after = 2 * one if last is ADD_ONE else 0
    stand = small_stand([ADD_ONE, replace(LOAD_UOPS, x_size=0), last], ZERO, CONFIG)
    seen: list[int] = []

    def look(ctx: Context) -> None:
        seen.append(int(ctx.get(stand.unit.out_data)))

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        ctx.set(stand.unit.out_enable, 1)
        await cycles(ctx, Watch(look), *stand.agents, until=has(stand.status.ends, 4))
        await cycle(ctx, Watch(look), *stand.agents, count=6)
        end = stand.status.ends[-1][1]
        # Data comes a cycle after the address.
        assert seen[end] == one
        assert set(seen[end + 3 :]) == {after}

    simulate(stand.unit, bench)


def test_a_bad_index_of_par_is_told() -> None:
    """In the cycle in which any other would be, with its own instruction's index."""
    depth = CONFIG.depth(MemoryId.PAR)
    mode = replace(ON, par_base=depth - 2, par_factor_in=1)
    program: list[Instruction] = [mode, replace(ADD_ONE, iter_in=2), replace(ADD_ONE, iter_in=3)]
    stand = small_stand(program, ZERO, CONFIG)
    found = []

    def look(ctx: Context) -> None:
        if ctx.get(stand.unit.bad_index):
            found.append((ctx.get(stand.unit.fault_index), stand.status.now))

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycle(ctx, Watch(look), *stand.agents, count=60)
        assert found == [(FIRST_INDEX + 3, stand.status.starts[3] + 3 + 2)]

    simulate(stand.unit, bench)


def test_halt_starts_nothing_more_and_leaves_nothing_under_way() -> None:
    program: list[Instruction] = [ON, *[replace(ADD_ONE, iter_in=2)] * 5]
    stand = small_stand(program, ZERO, CONFIG)

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await cycles(ctx, *stand.agents, until=has(stand.status.starts, 4))
        ctx.set(stand.unit.halt, 1)
        await cycle(ctx, *stand.agents, count=DEPTH + OUT_STAGES)
        assert len(stand.status.starts) == 4
        assert len(stand.status.ends) == 3
        assert ctx.get(stand.unit.status.active)

    simulate(stand.unit, bench)


@pytest.mark.parametrize("limit", [-3, 5])
def test_back_to_back_modes(limit: int) -> None:
    """Each micro-op is requantised in the mode of its own time, whatever is behind it."""
    off = Requantise(active=False)
    big = replace(ADD_ONE, imm=1000 if limit > 0 else -1000)
    modes = [ON, replace(ON, low=-100, high=100), off, replace(ON, low=limit, high=limit)]
    random.Random(limit).shuffle(modes)
    # PAR holds anything: what no shift and no multiplier can hide are limits that are equal.
    program: list[Instruction] = []
    for mode in modes:
        program += [mode, big]
    program += [replace(ON, low=limit, high=limit), replace(big, dst_factor_in=1, iter_in=4), off]
    stand = small_stand(program, ZERO, CONFIG)

    async def bench(ctx: Context) -> None:
        await stand.begin(ctx)
        await stand.finish(ctx)
        out = await stand.out(ctx)
        assert out[:4] == [sum((limit & 0xFF) << 8 * lane for lane in range(4))] * 4

    simulate(stand.unit, bench)

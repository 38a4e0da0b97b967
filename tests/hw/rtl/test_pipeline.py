"""The pipeline's control: every signal of every micro-op in its own cycle."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, AluOp, Gemm, MemoryId, MicroOp, Requantise
from tandem.hw.timing import pipeline_depth
from tests.hw.rtl.pipeline_issues import (
    ALU,
    BLOCKS,
    FROM_INP,
    GEMM,
    MACHINES,
    OFF,
    ON,
    RESET,
    TINY,
    Issue,
    an_issue,
    machine,
    random_issues,
)
from tests.hw.rtl.pipeline_stand import Stand
from tests.support.hw.configs import COMPUTE_FEATURES
from tests.support.hw.rtl.rtl import Context, seeds, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

SOME = (
    frozenset({Feature.REQUANTISE}),
    frozenset({Feature.INPUT_OPERANDS}),
    frozenset({Feature.OVERWRITE}),
    frozenset[Feature](),
)


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("features", SOME, ids=lambda some: "_".join(each.value for each in some))
def test_some_extensions_or_none(features: frozenset[Feature], seed: int) -> None:
    every_micro_op(machine(5).replace(features=features), 150, seed)


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("log_block_in", "ports"), MACHINES)
def test_every_micro_op_in_its_stage(log_block_in: int, ports: int, seed: int) -> None:
    every_micro_op(machine(log_block_in, ports), 200 if ports == 2 else 400, seed)


def every_micro_op(config: HardwareConfig, count: int, seed: int) -> None:
    """Random micro-ops, of which some stall for a cycle and some for two."""
    rng = random.Random(seed)
    stand = Stand(config, random_issues(rng, config, count))
    stalls = "".join(str(int(moment.stall)) for moment in stand.moments)
    assert {len(part) for part in stalls.split("0")} == {0, 1, 2}

    async def bench(ctx: Context) -> None:
        for cycle in range(stand.cycles):
            stand.drive(ctx, cycle)
            stand.compare(ctx, cycle)
            await ctx.tick()

    simulate(stand.pipeline, bench)


def both(config: HardwareConfig) -> HardwareConfig:
    """The machine with all extensions; its ACC is smaller than its INP."""
    features = COMPUTE_FEATURES
    return config.replace(features=features, log_acc_buffer=8, log_par_buffer=7)


EXTENDED = both(TINY)
ACC, INP, WGT = (TINY.depth(memory) for memory in (MemoryId.ACC, MemoryId.INP, MemoryId.WGT))
IMMEDIATE = replace(ALU, use_imm=True)


@pytest.mark.parametrize(
    ("instruction", "dst", "src", "wgt", "bad"),
    [
        (GEMM, ACC - 1, INP - 1, WGT - 1, False),
        (GEMM, ACC, 0, 0, True),
        (GEMM, 2 * ACC - 1, 0, 0, True),
        (GEMM, 0, INP, 0, True),
        (GEMM, 0, 0, WGT, True),
        (GEMM, 0, 0, 2 * WGT - 1, True),
        (RESET, ACC - 1, INP, WGT, False),
        (RESET, ACC, 0, 0, True),
        (ALU, ACC - 1, ACC - 1, WGT, False),
        (ALU, 0, ACC, 0, True),
        (ALU, ACC, 0, 0, True),
        (IMMEDIATE, ACC - 1, ACC, WGT, False),
        (IMMEDIATE, ACC, 0, 0, True),
    ],
)
def test_an_index_out_of_bounds_is_refused(
    instruction: Gemm | Alu, dst: int, src: int, wgt: int, bad: bool
) -> None:
    issue = Issue(instruction, 77, True, MicroOp(dst, src, wgt), MicroOp(0, 0, 0))
    stand = Stand(TINY, [issue])
    pipeline = stand.pipeline

    async def bench(ctx: Context) -> None:
        written = 0
        for cycle in range(stand.depth + 3):
            stand.drive(ctx, cycle)
            assert ctx.get(pipeline.bad_index) == (bad and cycle == 2)
            if cycle == 2:
                assert ctx.get(pipeline.fault_index) == 77
            written += ctx.get(pipeline.write_enable)
            await ctx.tick()
        assert written == (not bad)
        assert ctx.get(pipeline.empty)

    simulate(pipeline, bench)


FEW, PAR = (EXTENDED.depth(memory) for memory in (MemoryId.ACC, MemoryId.PAR))


@pytest.mark.parametrize(
    ("instruction", "dst", "src", "mode", "par", "bad"),
    [
        (FROM_INP, FEW - 1, INP - 1, OFF, 0, False),
        (FROM_INP, FEW, 0, OFF, 0, True),
        (FROM_INP, 0, INP, OFF, 0, True),
        (FROM_INP, 0, 2 * INP - 1, OFF, 0, True),
        (ALU, 0, FEW, OFF, 0, True),
        *(
            case
            for instruction in (GEMM, RESET, ALU, IMMEDIATE, FROM_INP)
            for case in (
                (instruction, 0, 0, ON, PAR - 2, False),
                (instruction, 0, 0, ON, PAR - 1, True),
                (instruction, 0, 0, ON, 2 * PAR - 1, True),
                (instruction, 0, 0, replace(ON, par_base=PAR - 1), 0, False),
                (instruction, 0, 0, replace(ON, par_base=PAR - 1), 1, True),
                (instruction, 0, 0, replace(ON, par_base=PAR - 1), 2 * PAR - 1, True),
                (instruction, 0, 0, replace(ON, active=False), 2 * PAR - 1, False),
            )
        ),
        (GEMM, FEW, INP, ON, PAR, True),
        (ON, FEW, INP, ON, PAR, False),
    ],
)
def test_an_index_of_an_extension_out_of_bounds_is_refused(
    instruction: Gemm | Alu | Requantise,
    dst: int,
    src: int,
    mode: Requantise,
    par: int,
    bad: bool,
) -> None:
    assert FEW < INP
    issue = Issue(instruction, 77, True, MicroOp(dst, src, 0), MicroOp(0, 0, 0), mode, par)
    stand = Stand(EXTENDED, [issue])
    p = stand.pipeline

    async def bench(ctx: Context) -> None:
        ended = 0
        for cycle in range(stand.depth + 3):
            stand.drive(ctx, cycle)
            assert ctx.get(p.bad_index) == (bad and cycle == 2)
            if cycle == 2 and bad:
                assert ctx.get(p.fault_index) == 77
            ended += ctx.get(p.ends)
            await ctx.tick()
        assert ended == (not bad)
        assert ctx.get(p.empty)

    simulate(p, bench)


@pytest.mark.parametrize("log_block_in", BLOCKS)
@pytest.mark.parametrize(
    ("instruction", "bad"),
    [
        (replace(ALU, op=AluOp.SHR), True),
        (replace(ALU, op=AluOp.MUL), False),
        (GEMM, False),
        (RESET, False),
    ],
)
def test_a_lane_s_complaint_counts_for_shifts_only(
    instruction: Gemm | Alu, bad: bool, log_block_in: int
) -> None:
    issue = Issue(instruction, 5, True, MicroOp(1, 0, 0), MicroOp(1, 0, 0))
    stand = Stand(machine(log_block_in), [issue])
    pipeline = stand.pipeline

    async def bench(ctx: Context) -> None:
        ctx.set(pipeline.shift_out_of_range, 1)
        written = 0
        for cycle in range(stand.depth + 3):
            stand.drive(ctx, cycle)
            executes = cycle == stand.depth - 1
            assert ctx.get(pipeline.bad_shift) == (bad and executes)
            if bad and executes:
                assert ctx.get(pipeline.fault_index) == 5
            written += ctx.get(pipeline.write_enable)
            await ctx.tick()
        assert written == (not bad)

    simulate(pipeline, bench)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("log_block_in", BLOCKS)
def test_the_shift_that_is_executed_is_refused(log_block_in: int, seed: int) -> None:
    """Among other micro-ops, with lanes that find an amount out of range in every second cycle."""
    rng = random.Random(seed)
    config = machine(log_block_in)
    stand = Stand(config, random_issues(rng, config, 200))
    p = stand.pipeline

    async def bench(ctx: Context) -> None:
        refused: list[bool] = [False]
        for cycle in range(stand.cycles):
            stand.drive(ctx, cycle)
            out_of_range = rng.random() < 0.5
            ctx.set(p.shift_out_of_range, out_of_range)
            executes, writes = stand.at(stand.depth - 1, cycle), stand.at(stand.depth, cycle)
            ends = writes is not None and not refused[-1] and writes.last
            computes = stand.computing(stand.depth, cycle) is not None
            assert ctx.get(p.write_enable) == (computes and not refused[-1])
            assert ctx.get(p.ends) == ends
            instruction = executes.instruction if executes is not None else None
            shifts = isinstance(instruction, Alu) and instruction.op is AluOp.SHR
            refused.append(shifts and out_of_range)
            assert ctx.get(p.bad_shift) == refused[-1]
            if executes is not None and refused[-1]:
                assert ctx.get(p.fault_index) == executes.index
            await ctx.tick()
        assert any(refused)

    simulate(p, bench)


@pytest.mark.parametrize("config", [TINY, machine(0)], ids=["base", "extended"])
@pytest.mark.parametrize("halt", range(1, 22))
def test_halt_lets_nothing_in_and_everything_out(halt: int, config: HardwareConfig) -> None:
    """In any cycle, one of a stall included."""
    rng = random.Random(8)
    issues = [issue for issue in random_issues(rng, config, 40) if issue is not None][:20]
    stand = Stand(config, [*issues], halt)
    pipeline = stand.pipeline
    assert any(moment.stall for moment in stand.offered[1:21])

    async def bench(ctx: Context) -> None:
        written = 0
        for cycle in range(stand.cycles):
            stand.drive(ctx, cycle)
            stand.compare(ctx, cycle)
            written += ctx.get(pipeline.write_enable) | ctx.get(pipeline.ends)
            await ctx.tick()
        assert written == halt - sum(moment.stall for moment in stand.offered[:halt])
        assert ctx.get(pipeline.empty)

    simulate(pipeline, bench)


def test_an_index_out_of_bounds_behind_a_stall_is_refused() -> None:
    """It is found in each of the three cycles that it stays in its stage."""
    bad = replace(an_issue(GEMM, ACC, 0, index=77), fields=MicroOp(0, 0, 0))
    bad = replace(bad, offsets=MicroOp(ACC, 0, 0))
    stand = Stand(TINY, [an_issue(GEMM, 1, 0), an_issue(replace(ALU, op=AluOp.MUL), 1, 1), bad])
    p = stand.pipeline

    async def bench(ctx: Context) -> None:
        found, written = [], []
        for cycle in range(stand.cycles):
            stand.drive(ctx, cycle)
            if ctx.get(p.bad_index):
                assert ctx.get(p.fault_index) == 77
                found.append(cycle)
            if ctx.get(p.write_enable):
                written.append(cycle - stand.depth)
            await ctx.tick()
        assert found == [4, 5, 6]
        assert written == [0, 3]
        assert ctx.get(p.empty)

    simulate(p, bench)


def test_depth() -> None:
    assert [pipeline_depth(machine(log)) for log in range(8)] == [8, 8, 8, 8, 8, 9, 9, 10]

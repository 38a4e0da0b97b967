"""The pipeline's control: every signal of every micro-op in its own cycle."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, AluOp, Gemm, MemoryId, MicroOp, Requantise, Tokens
from tandem.hw.timing import EARLY_OPS, STALL_STAGE, pipeline_depth
from tests.hw.rtl.pipeline_stand import (
    ALU,
    BLOCKS,
    GEMM,
    MACHINES,
    OFF,
    TINY,
    Issue,
    Stand,
    machine,
    random_issues,
)
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
RESET = replace(GEMM, reset=True)
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


FROM_INP = replace(ALU, from_inp=True)
FEW, PAR = (EXTENDED.depth(memory) for memory in (MemoryId.ACC, MemoryId.PAR))
ON = Requantise(active=True, par_base=1)


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


def an_issue(
    instruction: Gemm | Alu | Requantise,
    dst: int,
    src: int,
    *,
    index: int = 0,
    last: bool = True,
) -> Issue:
    """A micro-op that is an instruction, with both tokens, unless it is not the last."""
    tokens = Tokens(push_prev=True, push_next=True)
    uop = MicroOp(dst, src, 0)
    return Issue(replace(instruction, tokens=tokens), index, last, MicroOp(0, 0, 0), uop)


@dataclass
class Seen:
    """The cycles in which something happened."""

    stalls: list[int]
    writes: list[int]
    ends: list[int]


def seen(config: HardwareConfig, issues: Sequence[Issue | None], noise: float = 0.5) -> Seen:
    """Run micro-ops; returns when the pipeline stalled and, counted from the depth, wrote."""
    stand = Stand(config, list(issues), noise=noise)
    p = stand.pipeline
    found = Seen([], [], [])

    async def bench(ctx: Context) -> None:
        for cycle in range(stand.cycles):
            stand.drive(ctx, cycle)
            stand.compare(ctx, cycle)
            if ctx.get(p.stall):
                found.stalls.append(cycle)
            if ctx.get(p.write_enable):
                found.writes.append(cycle - stand.depth)
            for push in (p.push_prev, p.push_next):
                assert ctx.get(push) == ctx.get(p.ends)
            if ctx.get(p.ends):
                found.ends.append(cycle - stand.depth)
            await ctx.tick()

    simulate(p, bench)
    return found


MUL, SHR = (replace(ALU, op=op) for op in (AluOp.MUL, AluOp.SHR))
LATE: list[Alu] = [replace(ALU, op=op) for op in (AluOp.ADD, AluOp.MIN, AluOp.MAX)]
AHEAD: list[Gemm | Alu] = [
    GEMM,
    RESET,
    *(replace(ALU, op=op) for op in AluOp),
    replace(MUL, use_imm=True),
]


IMMEDIATES: list[Alu] = [replace(instruction, use_imm=True) for instruction in LATE]
WAITING: list[tuple[Alu, int, int]] = [
    *((early, dst, src) for early in (MUL, SHR) for dst, src in ((1, 2), (2, 1), (1, 1))),
    *((replace(early, use_imm=True), 1, src) for early in (MUL, SHR) for src in (1, 2)),
    *((late, dst, 1) for late in LATE for dst in (1, 2)),
]
"""Instructions, dst and src that wait for accumulator 1."""
_OTHERS: tuple[Gemm | Alu, ...] = (GEMM, RESET, *IMMEDIATES)
FORWARDED: list[tuple[Gemm | Alu, int, int]] = [
    *((late, 1, 2) for late in LATE),
    *((other, dst, src) for other in _OTHERS for dst, src in ((1, 2), (2, 1))),
    *((replace(early, use_imm=True), 2, 1) for early in (MUL, SHR)),
    *((other, 2, 3) for other in (MUL, SHR, *LATE)),
]
"""Instructions, dst and src that do not wait for accumulator 1."""


EVERY_ELEVENTH = 11
"""The step through cases in a quick test: prime to the numbers of instructions, so that all occur
with one size of the array or another."""
ALL_PAIRS = pytest.param(1, id="all", marks=pytest.mark.exhaustive)


@pytest.mark.parametrize("log_block_in", BLOCKS)
@pytest.mark.parametrize("step", [pytest.param(EVERY_ELEVENTH, id="few"), ALL_PAIRS])
def test_a_micro_op_waits_for_a_result_that_no_lane_forwards(step: int, log_block_in: int) -> None:
    """From its first cycle in stage 3 until the result is three ahead."""
    config = machine(log_block_in)
    other = an_issue(GEMM, 5, 1)
    pairs = list(itertools.product(AHEAD, WAITING))[BLOCKS.index(log_block_in) :: step]
    for ahead, (instruction, dst, src) in pairs:
        writer, waiting = an_issue(ahead, 1, 3), an_issue(instruction, dst, src)
        found = seen(config, [None, writer, waiting])
        assert found == Seen([2 + STALL_STAGE, 3 + STALL_STAGE], [1, 4], [1, 4])
        assert seen(config, [writer, None, waiting]) == Seen([2 + STALL_STAGE], [0, 3], [0, 3])
        found = seen(config, [writer, other, waiting, other])
        assert found == Seen([2 + STALL_STAGE], [0, 1, 3, 4], [0, 1, 3, 4])


@pytest.mark.parametrize("log_block_in", BLOCKS)
@pytest.mark.parametrize("step", [pytest.param(EVERY_ELEVENTH, id="few"), ALL_PAIRS])
def test_what_lanes_forward_does_not_wait(step: int, log_block_in: int) -> None:
    config = machine(log_block_in)
    aheads: tuple[Gemm | Alu, ...] = (MUL, GEMM)
    cases = list(itertools.product(aheads, (1, 2), FORWARDED))
    for ahead, distance, (instruction, dst, src) in cases[BLOCKS.index(log_block_in) :: step]:
        user = an_issue(instruction, dst, src)
        found = seen(config, [an_issue(ahead, 1, 3), *[None] * (distance - 1), user])
        assert found == Seen([], [0, distance], [0, distance])


def test_one_read_port() -> None:
    """An empty slot is ahead of two operands: they wait a cycle; an immediate waits two."""
    config = machine(1, acc_read_ports=1)
    writer, tensor = an_issue(GEMM, 1, 0), an_issue(ALU, 2, 1)
    immediate = an_issue(replace(MUL, use_imm=True), 1, 0)
    assert seen(config, [writer, None, tensor]) == Seen([2 + STALL_STAGE], [0, 3], [0, 3])
    assert seen(config, [writer, None, None, tensor]) == Seen([], [0, 3], [0, 3])
    found = seen(config, [writer, immediate, None, tensor, None, None, immediate])
    # The immediate is in stage 3 in 4, 5 and 6; the tensor two slots behind in 8 and 9.
    assert found == Seen([4, 5, 8], [0, 3, 6, 9], [0, 3, 6, 9])


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("user", [MUL, SHR, *LATE], ids=lambda user: user.op.name)
def test_what_prevents_a_stall(user: Alu, noise: float) -> None:
    """Operands that are not used, another destination ahead, two slots between.

    Without noise, a bubble still has the fields of the micro-op ahead.
    """
    ahead, other = an_issue(MUL, 1, 3), an_issue(GEMM, 2, 2)
    for issues in (
        [ahead, an_issue(user, 2, 3)],
        [ahead, an_issue(replace(user, use_imm=True), 2, 1)],
        [an_issue(MUL, 3, 1), an_issue(user, 1, 2)],
        [an_issue(MUL, 3, 1), None, an_issue(user, 1, 2)],
        [ahead, None, None, an_issue(user, 1, 1)],
        [ahead, None, other, an_issue(user, 1, 1)],
        [ahead, other, None, an_issue(user, 1, 1)],
        [ahead, other, other, an_issue(user, 1, 1)],
        [ahead, an_issue(user, 3, 3), None, an_issue(user, 1, 1)],
        [None, None, an_issue(user, 0, 0)],
    ):
        places = [place for place, issue in enumerate(issues) if issue is not None]
        assert seen(TINY, issues, noise) == Seen(stalls=[], writes=places, ends=places)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("user", [MUL, SHR, *LATE], ids=lambda user: user.op.name)
def test_the_youngest_result_decides_how_long(user: Alu, noise: float) -> None:
    """One of two results, of other micro-ops, that a micro-op needs."""
    one, two, three = (an_issue(RESET, dst, 0) for dst in (1, 2, 3))
    # The first operand of a sum or comparison counts for nothing.
    dst_waits = user.op in EARLY_OPS
    for issues, cycles in (
        ([two, one, an_issue(user, 3, 1)], 2),
        ([one, two, an_issue(user, 3, 1)], 1),
        ([one, one, an_issue(user, 3, 1)], 2),
        ([two, one, an_issue(user, 2, 1)], 2),
        ([two, one, an_issue(user, 1, 2)], 2 if dst_waits else 1),
        ([one, three, an_issue(user, 2, 1)], 1),
        ([two, three, an_issue(user, 2, 1)], 1 if dst_waits else 0),
        ([three, two, an_issue(user, 2, 1)], 2 if dst_waits else 0),
    ):
        places = [0, 1, 2 + cycles]
        stalls = [2 + STALL_STAGE + number for number in range(cycles)]
        assert seen(TINY, issues, noise) == Seen(stalls, places, places)


@pytest.mark.parametrize("log_block_in", BLOCKS)
def test_a_requantise_is_a_slot_in_which_nothing_is_written(log_block_in: int) -> None:
    """It ends like a micro-op, waits for nothing, and nothing waits for it."""
    config = machine(log_block_in)
    mode = an_issue(replace(ON, par_base=0), 1, 1)
    writer, waiting = an_issue(GEMM, 1, 3), an_issue(MUL, 1, 1)
    assert seen(config, [mode, waiting]) == Seen([], [1], [0, 1])
    assert seen(config, [writer, mode]) == Seen([], [0], [0, 1])
    found = seen(config, [writer, mode, waiting])
    assert found == Seen([2 + STALL_STAGE], [0, 3], [0, 1, 3])
    # One behind a micro-op that stays does not move either.
    found = seen(config, [writer, waiting, mode, mode])
    assert found == Seen([1 + STALL_STAGE, 2 + STALL_STAGE], [0, 3], [0, 3, 4, 5])


@pytest.mark.parametrize("ports", [1, 2])
def test_an_operand_from_inp_is_no_accumulator(ports: int) -> None:
    """A sum with it waits for nothing; a product waits for its first operand, and what it has read
    stays, whatever is behind it."""
    config = machine(4, ports)
    writer = an_issue(GEMM, 1, 3)
    for op in (AluOp.ADD, AluOp.MOVE, AluOp.RESIDUAL, AluOp.MIN):
        user = an_issue(replace(FROM_INP, op=op), 1, 1)
        assert seen(config, [writer, user, user]) == Seen([], [0, 1, 2], [0, 1, 2])
    product = an_issue(replace(FROM_INP, op=AluOp.MUL), 1, 5)
    found = seen(config, [writer, product, an_issue(GEMM, 2, 6), an_issue(FROM_INP, 3, 7)])
    assert found == Seen([1 + STALL_STAGE, 2 + STALL_STAGE], [0, 3, 4, 5], [0, 3, 4, 5])


@pytest.mark.parametrize("log_block_in", BLOCKS)
@pytest.mark.parametrize("user", [MUL, SHR, *LATE], ids=lambda user: user.op.name)
def test_a_chain_takes_three_cycles_each(user: Alu, log_block_in: int) -> None:
    """All but the first; of one instruction, which ends with the last of them."""
    chain = [an_issue(user, 1, 1, last=number == 4) for number in range(5)]
    found = seen(machine(log_block_in), [*chain, an_issue(GEMM, 1, 1, index=1)])
    starts = [1 + STALL_STAGE + 3 * number for number in range(4)]
    assert found.stalls == [start + cycle for start in starts for cycle in range(2)]
    assert found.writes == [0, 3, 6, 9, 12, 13]
    assert found.ends == [12, 13]


def test_an_index_out_of_bounds_behind_a_stall_is_refused() -> None:
    """It is found in each of the three cycles that it stays in its stage."""
    bad = replace(an_issue(GEMM, ACC, 0, index=77), fields=MicroOp(0, 0, 0))
    bad = replace(bad, offsets=MicroOp(ACC, 0, 0))
    stand = Stand(TINY, [an_issue(GEMM, 1, 0), an_issue(MUL, 1, 1), bad])
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

"""The pipeline's stalls: which micro-ops wait for a result ahead of them, and for how long."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Alu, AluOp, Gemm
from tandem.hw.timing import EARLY_OPS, STALL_STAGE
from tests.hw.rtl.pipeline_issues import (
    ALU,
    BLOCKS,
    FROM_INP,
    GEMM,
    ON,
    RESET,
    TINY,
    Issue,
    an_issue,
    machine,
)
from tests.hw.rtl.pipeline_stand import Stand
from tests.support.hw.rtl.rtl import Context, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)


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

"""The pipeline's control: every signal of every micro-op in its own cycle."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.encoding import uop_layout
from hw.isa import Alu, AluOp, Gemm, MemoryId, MicroOp, Tokens, encode, encode_uop
from hw.rtl.pipeline import Pipeline
from hw.timing import EARLY_OPS, FORWARD_DISTANCE, STALL_STAGE, pipeline_depth, tree_levels
from tests.support.rtl import Context, seeds, simulate

TINY = load_config("tiny")
BLOCKS = (0, 4, 5, 7)
"""log2 of block_in: two, three and four levels of the adder tree."""


MACHINES = ((0, 2), (4, 2), (5, 2), (7, 2), (0, 1), (4, 1), (5, 1), (7, 1))
"""The same, and the read ports of ACC."""


def machine(log_block_in: int, acc_read_ports: int = 2) -> HardwareConfig:
    """A tiny machine with another number of input channels."""
    return TINY.replace(
        acc_read_ports=acc_read_ports,
        log_block_in=log_block_in,
        log_inp_buffer=5 + log_block_in,
        log_wgt_buffer=6 + log_block_in,
    )


LOOPS: dict[str, Any] = {
    "uop_bgn": 0,
    "uop_end": 1,
    "iter_out": 1,
    "iter_in": 1,
    "dst_factor_out": 0,
    "dst_factor_in": 0,
    "src_factor_out": 0,
    "src_factor_in": 0,
}
GEMM = Gemm(reset=False, wgt_factor_out=0, wgt_factor_in=0, **LOOPS)
ALU = Alu(op=AluOp.ADD, use_imm=False, imm=0, **LOOPS)


@dataclass(frozen=True)
class Issue:
    """What is issued in one cycle."""

    instruction: Gemm | Alu
    index: int
    last: bool
    offsets: MicroOp
    fields: MicroOp

    @property
    def dst(self) -> int:
        return self.offsets.dst + self.fields.dst

    @property
    def src(self) -> int:
        return self.offsets.src + self.fields.src

    @property
    def wgt(self) -> int:
        return self.offsets.wgt + self.fields.wgt

    @property
    def multiplies(self) -> bool:
        return isinstance(self.instruction, Gemm) and not self.instruction.reset

    @property
    def resets(self) -> bool:
        return isinstance(self.instruction, Gemm) and self.instruction.reset

    @property
    def tensor(self) -> bool:
        return isinstance(self.instruction, Alu) and not self.instruction.use_imm

    @property
    def early(self) -> bool:
        return isinstance(self.instruction, Alu) and self.instruction.op in EARLY_OPS

    def must_stall(self, ahead: Issue | None) -> bool:
        """Whether it uses the result of `ahead` as no lane forwards it to the next two slots."""
        if ahead is None:
            return False
        return (self.early and ahead.dst == self.dst) or (self.tensor and ahead.dst == self.src)


def random_instruction(rng: random.Random) -> Gemm | Alu:
    tokens = Tokens(push_prev=rng.random() < 0.5, push_next=rng.random() < 0.5)
    if rng.random() < 0.5:
        return replace(GEMM, reset=rng.random() < 0.3, tokens=tokens)
    return replace(
        ALU,
        op=rng.choice((*AluOp, *EARLY_OPS)),
        use_imm=rng.random() < 0.5,
        imm=rng.randint(-32768, 32767),
        tokens=tokens,
    )


def split(rng: random.Random, total: int, field_bits: int) -> tuple[int, int]:
    """An index as a loop offset and a micro-op's field."""
    field = rng.randint(0, min(total, (1 << field_bits) - 1))
    return total - field, field


def random_issue(rng: random.Random, config: HardwareConfig, instruction: Gemm | Alu) -> Issue:
    """Indices within the memories, of which few, so that micro-ops meet; what is not used is not
    always within."""
    layout = uop_layout(config)
    acc, wgt = config.depth(MemoryId.ACC), config.depth(MemoryId.WGT)
    reads_acc = isinstance(instruction, Alu)
    src_depth = acc if reads_acc else config.depth(MemoryId.INP)
    unused = (isinstance(instruction, Gemm) and instruction.reset) or (
        isinstance(instruction, Alu) and instruction.use_imm
    )
    dst = rng.choice((acc - 1, rng.randrange(3)))
    src = src_depth + 5 if unused else rng.choice((src_depth - 1, rng.randrange(3)))
    weight = wgt - 1 if isinstance(instruction, Gemm) else rng.randrange(wgt + 3)
    dst_parts = split(rng, dst, layout["dst"].width)
    src_parts = split(rng, src, layout["src"].width)
    wgt_parts = split(rng, weight, layout["wgt"].width)
    return Issue(
        instruction=instruction,
        index=0,
        last=False,
        offsets=MicroOp(dst_parts[0], src_parts[0], wgt_parts[0]),
        fields=MicroOp(dst_parts[1], src_parts[1], wgt_parts[1]),
    )


def with_dst_of(issue: Issue, other: Issue) -> Issue:
    """`issue` with the destination of `other`."""
    return replace(
        issue,
        offsets=replace(issue.offsets, dst=other.offsets.dst),
        fields=replace(issue.fields, dst=other.fields.dst),
    )


def random_issues(rng: random.Random, config: HardwareConfig, count: int) -> list[Issue | None]:
    """Instructions of a few micro-ops each, with bubbles: where ACC has one read port, always one
    before a micro-op with two operands from it."""
    issues: list[Issue | None] = []
    index = rng.randrange(1 << 31)
    while len(issues) < count:
        instruction = random_instruction(rng)
        index += 1
        length = rng.randint(1, 5)
        for number in range(length):
            issue = random_issue(rng, config, instruction)
            ahead = issues[-1] if issues else None
            if ahead is not None and rng.random() < 0.4:
                issue = with_dst_of(issue, ahead)
            if config.acc_read_ports == 1 and issue.tensor:
                issues.append(None)
            issues.append(replace(issue, index=index, last=number == length - 1))
            if rng.random() < 0.2:
                issues.append(None)
    return issues


@dataclass(frozen=True)
class Moment:
    """What the model predicts for one cycle."""

    stages: list[Issue | None]
    """The micro-op in each stage, and, last, the one that has just been written."""
    stall: bool


def predicted(issues: list[Issue | None], depth: int) -> Iterator[Moment]:
    """Every cycle until the pipeline is empty, if it gets a micro-op or bubble in each that moves.

    A micro-op that comes to the stage of the stall less than `FORWARD_DISTANCE` behind the one
    whose result it needs stays there, with all behind it, and bubbles go ahead of it.
    """
    left = deque(issues)
    slots: list[Issue | None] = [None] * (depth + 1)
    while left or any(slots):
        waits, *ahead = slots[STALL_STAGE - 1 : STALL_STAGE - 1 + FORWARD_DISTANCE]
        if waits is not None and any(waits.must_stall(issue) for issue in ahead):
            yield Moment([None, *slots], stall=True)
            slots = [*slots[:STALL_STAGE], None, *slots[STALL_STAGE:-1]]
        else:
            issue = left.popleft() if left else None
            yield Moment([issue, *slots], stall=False)
            slots = [issue, *slots[:-1]]


class Stand:
    """A pipeline, and micro-ops issued to it, one in each cycle without a stall.

    From the cycle `halt` on, if there is one, the pipeline must not take what is offered. An input
    that is not used in a cycle is noise with the probability `noise`, else it stays as it was.
    """

    def __init__(
        self,
        config: HardwareConfig,
        issues: list[Issue | None],
        halt: int | None = None,
        noise: float = 0.5,
    ) -> None:
        self.config = config
        self.pipeline = Pipeline(config)
        self.levels = tree_levels(config.block_in)
        self.depth = pipeline_depth(config)
        self.rng = random.Random(len(issues))
        self.halt = halt
        self.noise = noise
        self.offered = self.moments = list(predicted(issues, self.depth))
        if halt is not None:
            taken = [moment.stages[0] for moment in self.offered[:halt] if not moment.stall]
            self.moments = list(predicted(taken, self.depth))

    @property
    def cycles(self) -> int:
        """Until the pipeline is empty, and a little longer."""
        return len(self.offered) + 3

    def at(self, stage: int, cycle: int) -> Issue | None:
        """The micro-op in a stage."""
        return self.moments[cycle].stages[stage] if cycle < len(self.moments) else None

    def stalls(self, cycle: int) -> bool:
        return cycle < len(self.moments) and self.moments[cycle].stall

    def drive(self, ctx: Context, cycle: int) -> None:
        """Drive the inputs."""
        p = self.pipeline
        moment = self.offered[cycle] if cycle < len(self.offered) else None
        issue, read = moment.stages[:2] if moment is not None else (None, None)
        noise = self.rng.getrandbits
        is_noise = self.rng.random() < self.noise
        ctx.set(p.halt, self.halt is not None and cycle >= self.halt)
        ctx.set(p.valid, issue is not None)
        if issue is not None:
            word = encode(self.config, issue.instruction)
            ctx.set(p.current, int.from_bytes(word, "little"))
            ctx.set(p.index, issue.index)
            ctx.set(p.last, issue.last)
            offsets = issue.offsets
            ctx.set(p.offsets, {"dst": offsets.dst, "src": offsets.src, "wgt": offsets.wgt})
        elif is_noise:
            ctx.set(p.current, noise(128))
            ctx.set(p.index, noise(32))
            ctx.set(p.last, noise(1))
            ctx.set(p.offsets.as_value(), noise(len(p.offsets.as_value())))
        if read is not None:
            word = encode_uop(self.config, read.fields)
            ctx.set(p.uop.as_value(), int.from_bytes(word, "little"))
        elif is_noise:
            ctx.set(p.uop.as_value(), noise(32))

    def compare(self, ctx: Context, cycle: int) -> None:
        """Every output, against the micro-op that is in its stage."""
        p = self.pipeline
        indexed, reads = self.at(2, cycle), self.at(2 + self.levels, cycle)
        writes = self.at(self.depth, cycle)
        assert ctx.get(p.stall) == self.stalls(cycle)
        assert ctx.get(p.array_enable) == (indexed is not None and indexed.multiplies)
        if indexed is not None and indexed.multiplies:
            assert ctx.get(p.inp_address) == indexed.src
            assert ctx.get(p.wgt_address) == indexed.wgt
        assert ctx.get(p.dst_enable) == (reads is not None)
        if reads is not None:
            assert ctx.get(p.dst_address) == reads.dst
        early = self.config.acc_read_ports == 1
        second = self.at(1 + self.levels, cycle) if early else reads
        tensor = second is not None and second.tensor
        assert ctx.get(p.src_enable) == tensor
        if tensor:
            assert second is not None
            assert ctx.get(p.src_address) == second.src
        if early:
            assert not (ctx.get(p.dst_enable) and ctx.get(p.src_enable))
            self._compare_hold(ctx, cycle)
        assert len(p.mac_enable) == 1 + self.levels
        for stage in range(1 + self.levels):
            issue = self.at(3 + stage, cycle)
            multiplies = issue is not None and issue.multiplies
            assert ctx.get(p.mac_enable) >> stage & 1 == multiplies
        assert ctx.get(p.write_enable) == (writes is not None)
        if writes is not None:
            assert ctx.get(p.write_address) == writes.dst
            assert ctx.get(p.end_index) == writes.index
        ends = writes is not None and writes.last
        tokens = writes.instruction.tokens if writes is not None else Tokens()
        assert ctx.get(p.ends) == ends
        assert ctx.get(p.push_prev) == (ends and tokens.push_prev)
        assert ctx.get(p.push_next) == (ends and tokens.push_next)
        assert not ctx.get(p.bad_index)
        assert not ctx.get(p.bad_shift)
        inside = [self.at(stage, cycle) for stage in range(self.depth + 1)]
        behind = inside[1:]
        assert ctx.get(p.empty) == (behind == [None] * len(behind))
        self._compare_control(ctx, cycle)

    def _compare_control(self, ctx: Context, cycle: int) -> None:
        control = self.pipeline.control
        gathers, prepares, executes, writes, written = (
            self.at(3 + self.levels + stage, cycle) for stage in range(5)
        )
        assert ctx.get(control.gather) == (gathers is not None)
        assert ctx.get(control.prepare) == (prepares is not None)
        assert ctx.get(control.execute) == (executes is not None)
        if gathers is not None:
            assert ctx.get(control.gather_imm) == (not gathers.tensor)
            if isinstance(gathers.instruction, Alu):
                assert ctx.get(control.imm) == gathers.instruction.imm
            for forward, index, used in (
                (control.gather_dst, gathers.dst, not gathers.resets),
                (control.gather_src, gathers.src, gathers.tensor),
            ):
                assert ctx.get(forward.from_write) == self._hits(writes, index, used)
                assert ctx.get(forward.from_written) == self._hits(written, index, used)
        for name, issue in (("prepare", prepares), ("execute", executes)):
            if issue is None:
                continue
            op = issue.instruction.op if isinstance(issue.instruction, Alu) else AluOp.ADD
            from_dst = self._hits(writes, issue.dst, not issue.resets)
            assert ctx.get(control[f"{name}_op"]) == op
            assert ctx.get(control[f"{name}_dst"]) == from_dst
            # The stalls have seen to it that nothing else is written so late.
            assert not (from_dst and issue.early)
            assert not self._hits(writes, issue.src, issue.tensor)
        if prepares is not None:
            assert ctx.get(control.prepare_gemm) == isinstance(prepares.instruction, Gemm)
            assert ctx.get(control.prepare_reset) == prepares.resets

    @staticmethod
    def _hits(writer: Issue | None, index: int, used: bool) -> bool:
        """Whether an operand, if used, is the result of `writer`."""
        return used and writer is not None and writer.dst == index

    def _compare_hold(self, ctx: Context, cycle: int) -> None:
        """The second operand is at the memory's output while its micro-op reads the first."""
        hold = self.pipeline.hold
        reads = self.at(2 + self.levels, cycle)
        tensor = reads is not None and reads.tensor
        assert ctx.get(hold.take) == tensor
        if reads is not None and tensor:
            for name, stage in (("from_write", self.depth), ("from_written", self.depth + 1)):
                writer = self.at(stage, cycle)
                assert ctx.get(hold[name]) == (writer is not None and writer.dst == reads.src)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("log_block_in", "ports"), MACHINES)
def test_every_micro_op_in_its_stage(log_block_in: int, ports: int, seed: int) -> None:
    rng = random.Random(seed)
    config = machine(log_block_in, ports)
    stand = Stand(config, random_issues(rng, config, 150 if ports == 2 else 300))
    stalls = "".join(str(int(moment.stall)) for moment in stand.moments)
    assert {len(part) for part in stalls.split("0")} == {0, 1, 2}

    async def bench(ctx: Context) -> None:
        for cycle in range(stand.cycles):
            stand.drive(ctx, cycle)
            stand.compare(ctx, cycle)
            await ctx.tick()

    simulate(stand.pipeline, bench)


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
            assert ctx.get(p.write_enable) == (writes is not None and not refused[-1])
            assert ctx.get(p.ends) == (ctx.get(p.write_enable) and writes and writes.last)
            instruction = executes.instruction if executes is not None else None
            shifts = isinstance(instruction, Alu) and instruction.op is AluOp.SHR
            refused.append(shifts and out_of_range)
            assert ctx.get(p.bad_shift) == refused[-1]
            if executes is not None and refused[-1]:
                assert ctx.get(p.fault_index) == executes.index
            await ctx.tick()
        assert any(refused)

    simulate(p, bench)


@pytest.mark.parametrize("halt", range(1, 22))
def test_halt_lets_nothing_in_and_everything_out(halt: int) -> None:
    """In any cycle, one of a stall included."""
    rng = random.Random(8)
    issues = [issue for issue in random_issues(rng, TINY, 30) if issue is not None][:20]
    stand = Stand(TINY, [*issues], halt)
    pipeline = stand.pipeline
    assert any(moment.stall for moment in stand.offered[1:21])

    async def bench(ctx: Context) -> None:
        written = 0
        for cycle in range(stand.cycles):
            stand.drive(ctx, cycle)
            stand.compare(ctx, cycle)
            written += ctx.get(pipeline.write_enable)
            await ctx.tick()
        assert written == halt - sum(moment.stall for moment in stand.offered[:halt])
        assert ctx.get(pipeline.empty)

    simulate(pipeline, bench)


def an_issue(
    instruction: Gemm | Alu, dst: int, src: int, *, index: int = 0, last: bool = True
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


@pytest.mark.parametrize(
    ("log_block_in", "aheads"),
    [(BLOCKS[0], AHEAD), *((log_block_in, AHEAD[:1]) for log_block_in in BLOCKS[1:])],
    ids=lambda value: "" if isinstance(value, list) else str(value),
)
def test_a_micro_op_waits_for_a_result_that_no_lane_forwards(
    log_block_in: int, aheads: list[Gemm | Alu]
) -> None:
    """From its first cycle in stage 3 until the result is three ahead."""
    config = machine(log_block_in)
    other = an_issue(GEMM, 5, 1)
    for ahead, (instruction, dst, src) in itertools.product(aheads, WAITING):
        writer, waiting = an_issue(ahead, 1, 3), an_issue(instruction, dst, src)
        found = seen(config, [None, writer, waiting])
        assert found == Seen([2 + STALL_STAGE, 3 + STALL_STAGE], [1, 4], [1, 4])
        assert seen(config, [writer, None, waiting]) == Seen([2 + STALL_STAGE], [0, 3], [0, 3])
        found = seen(config, [writer, other, waiting, other])
        assert found == Seen([2 + STALL_STAGE], [0, 1, 3, 4], [0, 1, 3, 4])


@pytest.mark.parametrize("log_block_in", BLOCKS)
@pytest.mark.parametrize("distance", [1, 2])
def test_what_lanes_forward_does_not_wait(distance: int, log_block_in: int) -> None:
    config = machine(log_block_in)
    for ahead in (MUL, GEMM):
        for instruction, dst, src in FORWARDED:
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

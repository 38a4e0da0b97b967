"""The pipeline's control: every signal of every micro-op in its own cycle."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.encoding import uop_layout
from hw.isa import Alu, AluOp, Gemm, MemoryId, MicroOp, Tokens, encode, encode_uop
from hw.rtl.pipeline import Pipeline
from hw.timing import pipeline_depth, tree_levels
from tests.support.rtl import Context, seeds, simulate

TINY = load_config("tiny")
BLOCKS = (0, 2, 4, 7)
"""log2 of block_in: none to four levels of the adder tree."""


MACHINES = ((0, 2), (2, 2), (4, 2), (7, 2), (1, 1), (4, 1), (7, 1))
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


def random_instruction(rng: random.Random) -> Gemm | Alu:
    tokens = Tokens(push_prev=rng.random() < 0.5, push_next=rng.random() < 0.5)
    if rng.random() < 0.5:
        return replace(GEMM, reset=rng.random() < 0.3, tokens=tokens)
    return replace(
        ALU,
        op=rng.choice(list(AluOp)),
        use_imm=rng.random() < 0.4,
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
            if config.acc_read_ports == 1 and issue.tensor:
                issues.append(None)
            issues.append(replace(issue, index=index, last=number == length - 1))
            if rng.random() < 0.2:
                issues.append(None)
    return issues


class Stand:
    """A pipeline, and micro-ops issued to it: number `n` in cycle `n`."""

    def __init__(self, config: HardwareConfig, issues: list[Issue | None]) -> None:
        self.config = config
        self.issues = issues
        self.pipeline = Pipeline(config)
        self.levels = tree_levels(config.block_in)
        self.depth = pipeline_depth(config)

    def at(self, stage: int, cycle: int) -> Issue | None:
        """The micro-op in a stage: they move one on each cycle, whatever they are."""
        place = cycle - stage
        return self.issues[place] if 0 <= place < len(self.issues) else None

    def drive(self, ctx: Context, cycle: int) -> None:
        p = self.pipeline
        issue, read = self.at(0, cycle), self.at(1, cycle)
        ctx.set(p.valid, issue is not None)
        if issue is not None:
            word = encode(self.config, issue.instruction)
            ctx.set(p.current, int.from_bytes(word, "little"))
            ctx.set(p.index, issue.index)
            ctx.set(p.last, issue.last)
            offsets = issue.offsets
            ctx.set(p.offsets, {"dst": offsets.dst, "src": offsets.src, "wgt": offsets.wgt})
        if read is not None:
            word = encode_uop(self.config, read.fields)
            ctx.set(p.uop.as_value(), int.from_bytes(word, "little"))

    def compare(self, ctx: Context, cycle: int) -> None:
        """Every output, against the micro-op that is in its stage."""
        p = self.pipeline
        indexed, reads = self.at(2, cycle), self.at(2 + self.levels, cycle)
        writes = self.at(self.depth, cycle)
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
        assert ctx.get(p.empty) == (inside == [None] * len(inside))
        self._compare_control(ctx, cycle)

    def _compare_control(self, ctx: Context, cycle: int) -> None:
        control = self.pipeline.control
        gathers, executes = self.at(3 + self.levels, cycle), self.at(4 + self.levels, cycle)
        assert ctx.get(control.gather) == (gathers is not None)
        assert ctx.get(control.execute) == (executes is not None)
        if gathers is not None:
            assert ctx.get(control.gather_imm) == (not gathers.tensor)
            if isinstance(gathers.instruction, Alu):
                assert ctx.get(control.imm) == gathers.instruction.imm
            ahead = [self.at(4 + self.levels + distance, cycle) for distance in range(3)]
            self._compare_forward(ctx, control.dst, gathers.dst, not gathers.resets, ahead)
            self._compare_forward(ctx, control.src, gathers.src, gathers.tensor, ahead)
        if executes is not None:
            gemm = isinstance(executes.instruction, Gemm)
            assert ctx.get(control.execute_gemm) == gemm
            assert ctx.get(control.execute_reset) == executes.resets
            op = executes.instruction.op if isinstance(executes.instruction, Alu) else AluOp.ADD
            assert ctx.get(control.op) == op

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

    @staticmethod
    def _compare_forward(
        ctx: Context, forward: Any, index: int, used: bool, ahead: list[Issue | None]
    ) -> None:
        """From each of the three micro-ops ahead that writes the operand."""
        names = ("from_execute", "from_write", "from_written")
        for name, writer in zip(names, ahead, strict=True):
            hits = used and writer is not None and writer.dst == index
            assert ctx.get(forward[name]) == hits, name


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("log_block_in", "ports"), MACHINES)
def test_every_micro_op_in_its_stage(log_block_in: int, ports: int, seed: int) -> None:
    rng = random.Random(seed)
    config = machine(log_block_in, ports)
    stand = Stand(config, random_issues(rng, config, 90))

    async def bench(ctx: Context) -> None:
        for cycle in range(len(stand.issues) + stand.depth + 3):
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


def test_halt_lets_nothing_in_and_everything_out() -> None:
    rng = random.Random(8)
    issues = [issue for issue in random_issues(rng, TINY, 30) if issue is not None][:20]
    stand = Stand(TINY, [*issues])
    pipeline = stand.pipeline

    async def bench(ctx: Context) -> None:
        written = 0
        for cycle in range(20 + stand.depth):
            ctx.set(pipeline.halt, cycle >= 6)
            stand.drive(ctx, cycle)
            written += ctx.get(pipeline.write_enable)
            await ctx.tick()
        assert written == 6
        assert ctx.get(pipeline.empty)

    simulate(pipeline, bench)


def test_depth() -> None:
    assert [pipeline_depth(machine(log)) for log in range(8)] == [5, 6, 6, 7, 7, 8, 8, 9]

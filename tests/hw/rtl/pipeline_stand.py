"""The pipeline of GEMM and ALU beside a model that says what is in each stage in every cycle."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, AluOp, Gemm, Tokens, encode, encode_uop
from tandem.hw.rtl.pipeline import Pipeline
from tandem.hw.timing import FORWARD_DISTANCE, OUT_STAGES, STALL_STAGE, pipeline_depth, tree_levels
from tests.hw.rtl.pipeline_issues import Issue
from tests.support.hw.rtl.rtl import Context, built


@dataclass(frozen=True)
class Moment:
    """What the model predicts for one cycle."""

    stages: list[Issue | None]
    """The micro-op in each stage, and, last, those that were written in the cycles before."""
    stall: bool


def predicted(issues: list[Issue | None], depth: int) -> Iterator[Moment]:
    """Every cycle until the pipeline is empty, if it gets a micro-op or bubble in each that moves.

    A micro-op that comes to the stage of the stall less than `FORWARD_DISTANCE` behind the one
    whose result it needs stays there, with all behind it, and bubbles go ahead of it.
    """
    left = deque(issues)
    slots: list[Issue | None] = [None] * (depth + OUT_STAGES)
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
        self.pipeline: Pipeline = built(Pipeline, config)
        self.levels = tree_levels(config.block_in)
        self.depth = pipeline_depth(config)
        self.rng = random.Random(len(issues))
        self.requantises = Feature.REQUANTISE in config.features
        self.from_inp = Feature.INPUT_OPERANDS in config.features
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

    def computing(self, stage: int, cycle: int) -> Issue | None:
        """The micro-op in a stage, if it is one, and no REQUANTISE."""
        issue = self.at(stage, cycle)
        return issue if issue is not None and issue.computes else None

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
            parts = {"dst": offsets.dst, "src": offsets.src, "wgt": offsets.wgt}
            if self.requantises:
                parts["par"] = issue.par_offset
            ctx.set(p.offsets, parts)
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
        if not self.requantises:
            return
        if read is not None and read.computes:
            names = ("active", "low", "high", "scale", "par_base")
            ctx.set(p.mode, {name: getattr(read.mode, name) for name in names})
        elif is_noise:
            ctx.set(p.mode.as_value(), noise(len(p.mode.as_value())))

    def compare(self, ctx: Context, cycle: int) -> None:
        """Every output, against the micro-op that is in its stage."""
        p = self.pipeline
        indexed, reads = self.computing(2, cycle), self.computing(2 + self.levels, cycle)
        writes, ending = self.computing(self.depth, cycle), self.at(self.depth, cycle)
        stall = self.stalls(cycle)
        assert ctx.get(p.stall) == stall
        reads_inp = indexed is not None and (indexed.multiplies or indexed.from_inp)
        if Feature.INPUT_OPERANDS in self.config.features:
            reads_inp &= not stall
        assert ctx.get(p.array_enable) == reads_inp
        if indexed is not None and reads_inp:
            assert ctx.get(p.inp_address) == indexed.src
            if indexed.multiplies:
                assert ctx.get(p.wgt_address) == indexed.wgt
        assert ctx.get(p.dst_enable) == (reads is not None)
        if reads is not None:
            assert ctx.get(p.dst_address) == reads.dst
        early = self.config.acc_read_ports == 1
        second = self.at(1 + self.levels, cycle) if early else reads
        used = second is not None and second.second_acc
        assert ctx.get(p.src_enable) == used
        if used:
            assert second is not None
            assert ctx.get(p.src_address) == second.src
        if early:
            assert not (ctx.get(p.dst_enable) and ctx.get(p.src_enable))
            self._compare_hold(ctx, cycle)
        assert len(p.mac_enable) == 1 + self.levels
        for stage in range(1 + self.levels):
            issue = self.at(3 + stage, cycle)
            multiplies = issue is not None and issue.multiplies
            multiplies |= issue is not None and issue.from_inp and stage == 0
            assert ctx.get(p.mac_enable) >> stage & 1 == multiplies
        assert ctx.get(p.write_enable) == (writes is not None)
        if writes is not None:
            assert ctx.get(p.write_address) == writes.dst
        if ending is not None:
            assert ctx.get(p.end_index) == ending.index
        ends = ending is not None and ending.last
        tokens = ending.instruction.tokens if ending is not None else Tokens()
        assert ctx.get(p.ends) == ends
        assert ctx.get(p.push_prev) == (ends and tokens.push_prev)
        assert ctx.get(p.push_next) == (ends and tokens.push_next)
        assert not ctx.get(p.bad_index)
        assert not ctx.get(p.bad_shift)
        inside = [self.at(stage, cycle) for stage in range(self.depth + 1)]
        behind = inside[1:]
        assert ctx.get(p.empty) == (behind == [None] * len(behind))
        self._compare_control(ctx, cycle)
        if self.from_inp:
            takes = reads is not None and isinstance(reads.instruction, Alu)
            assert ctx.get(p.operand.take) == takes
        if self.from_inp and reads is not None:
            assert ctx.get(p.operand.inp) == reads.from_inp
            if isinstance(reads.instruction, Alu):
                assert ctx.get(p.operand.imm) == reads.instruction.imm
        if self.requantises:
            self._compare_requantise(ctx, cycle)

    def _compare_requantise(self, ctx: Context, cycle: int) -> None:
        """What the requantisers get, before the write of ACC and behind it."""
        p, control = self.pipeline, self.pipeline.requantise
        stages = [self.computing(self.depth - 3 + stage, cycle) for stage in range(8)]
        gathers, _, executes, *_, clips, _ = stages
        active, *enables, active_in_out = (one is not None and one.mode.active for one in stages)
        assert ctx.get(p.par_enable) == active
        assert ctx.get(control.enable) == sum(bit << place for place, bit in enumerate(enables))
        assert ctx.get(p.requantised) == active_in_out
        if gathers is not None and active:
            assert ctx.get(p.par_address) == gathers.par
        if gathers is not None and AluOp.RESIDUAL in self.config.operations:
            assert ctx.get(p.scale.value) == gathers.mode.scale
            assert ctx.get(p.scale.enters) == gathers.residual
            assert ctx.get(p.scale.takes) == (gathers.residual or gathers.multiplies_accumulator)
        enters = executes is not None and executes.mode.active and executes.residual
        assert ctx.get(control.residual) == enters
        if clips is not None:
            assert ctx.get(control.low) == clips.mode.low
            assert ctx.get(control.high) == clips.mode.high

    def _compare_control(self, ctx: Context, cycle: int) -> None:
        control = self.pipeline.control
        gathers, prepares, executes, writes, written = (
            self.computing(3 + self.levels + stage, cycle) for stage in range(5)
        )
        assert ctx.get(control.gather) == (gathers is not None)
        second = gathers is not None and isinstance(gathers.instruction, Alu)
        assert ctx.get(control.gather_second) == second
        assert ctx.get(control.prepare) == (prepares is not None)
        assert ctx.get(control.execute) == (executes is not None)
        if gathers is not None:
            assert ctx.get(control.gather_imm) == (not gathers.second_acc)
            if isinstance(gathers.instruction, Alu) and not self.from_inp:
                assert ctx.get(self.pipeline.imm) == gathers.instruction.imm
            for forward, index, used in (
                (control.gather_dst, gathers.dst, not gathers.clears),
                (control.gather_src, gathers.src, gathers.second_acc),
            ):
                assert ctx.get(forward.from_write) == self._hits(writes, index, used)
                assert ctx.get(forward.from_written) == self._hits(written, index, used)
        for name, issue in (("prepare", prepares), ("execute", executes)):
            if issue is None:
                continue
            op = issue.instruction.op if isinstance(issue.instruction, Alu) else AluOp.ADD
            from_dst = self._hits(writes, issue.dst, not issue.clears)
            assert ctx.get(control[f"{name}_op"]) == op
            assert ctx.get(control[f"{name}_dst"]) == from_dst
            # The stalls have seen to it that nothing else is written so late.
            assert not (from_dst and issue.early)
            assert not self._hits(writes, issue.src, issue.second_acc)
        if prepares is not None:
            assert ctx.get(control.prepare_gemm) == isinstance(prepares.instruction, Gemm)
            assert ctx.get(control.prepare_reset) == (prepares.resets or prepares.residual)
            assert ctx.get(control.prepare_clear) == prepares.clears

    @staticmethod
    def _hits(writer: Issue | None, index: int, used: bool) -> bool:
        """Whether an operand, if used, is the result of `writer`."""
        return used and writer is not None and writer.dst == index

    def _compare_hold(self, ctx: Context, cycle: int) -> None:
        """The second operand is at the memory's output while its micro-op reads the first."""
        hold = self.pipeline.hold
        reads = self.computing(2 + self.levels, cycle)
        used = reads is not None and reads.second_acc
        assert ctx.get(hold.take) == used
        if reads is not None and used:
            writer = self.computing(self.depth + 1, cycle)
            assert ctx.get(hold.from_written) == (writer is not None and writer.dst == reads.src)

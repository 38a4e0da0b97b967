"""Micro-ops and what else is issued to the pipeline of GEMM and ALU, chosen or drawn."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.encoding import uop_layout
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, AluOp, Gemm, MemoryId, MicroOp, Requantise, Tokens
from tandem.hw.timing import EARLY_OPS
from tests.support.hw.configs import COMPUTE_FEATURES

TINY = load_config("tiny")
BLOCKS = (0, 4, 5, 7)
"""log2 of block_in: two, three and four levels of the adder tree."""
PAR_DEPTH = 16
OFF = Requantise(active=False)

MACHINES = ((0, 2), (4, 2), (5, 2), (7, 2), (0, 1), (4, 1), (5, 1), (7, 1))
"""The same, and the read ports of ACC."""


def machine(log_block_in: int, acc_read_ports: int = 2) -> HardwareConfig:
    """A tiny machine with another number of channels, and all extensions of compute."""
    return TINY.replace(
        features=COMPUTE_FEATURES,
        acc_read_ports=acc_read_ports,
        log_block_in=log_block_in,
        log_block_out=log_block_in,
        log_inp_buffer=5 + log_block_in,
        log_wgt_buffer=4 + 2 * log_block_in,
        log_acc_buffer=7 + log_block_in,
        log_par_buffer=7 + log_block_in,
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
RESET = replace(GEMM, reset=True)
FROM_INP = replace(ALU, from_inp=True)
ON = Requantise(active=True, par_base=1)


@dataclass(frozen=True)
class Issue:
    """What is issued in one cycle."""

    instruction: Gemm | Alu | Requantise
    index: int
    last: bool
    offsets: MicroOp
    fields: MicroOp
    mode: Requantise = OFF
    par_offset: int = 0

    @property
    def computes(self) -> bool:
        """Whether it is a micro-op."""
        return not isinstance(self.instruction, Requantise)

    @property
    def par(self) -> int:
        return self.mode.par_base + self.par_offset

    @property
    def residual(self) -> bool:
        return isinstance(self.instruction, Alu) and self.instruction.op is AluOp.RESIDUAL

    @property
    def multiplies_accumulator(self) -> bool:
        return isinstance(self.instruction, Alu) and self.instruction.op is AluOp.MUL

    @property
    def from_inp(self) -> bool:
        return isinstance(self.instruction, Alu) and self.instruction.from_inp

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
    def clears(self) -> bool:
        if isinstance(self.instruction, Alu):
            return self.instruction.op is AluOp.MOVE
        return isinstance(self.instruction, Gemm) and (
            self.instruction.reset or self.instruction.overwrite
        )

    @property
    def second_acc(self) -> bool:
        return isinstance(self.instruction, Alu) and not (
            self.instruction.use_imm or self.instruction.from_inp
        )

    @property
    def early(self) -> bool:
        return isinstance(self.instruction, Alu) and self.instruction.op in EARLY_OPS

    def must_stall(self, ahead: Issue | None) -> bool:
        """Whether it uses the result of `ahead` as no lane forwards it to the next two slots."""
        if ahead is None or not ahead.computes:
            return False
        return (self.early and ahead.dst == self.dst) or (self.second_acc and ahead.dst == self.src)


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


def random_mode(rng: random.Random, tokens: Tokens = OFF.tokens) -> Requantise:
    """A mode in which few elements of PAR are used, or none."""
    return Requantise(
        active=rng.random() < 0.7,
        low=rng.randint(-128, 127),
        high=rng.randint(-128, 127),
        scale=rng.getrandbits(24),
        par_base=rng.randrange(PAR_DEPTH),
        tokens=tokens,
    )


def random_instruction(rng: random.Random, config: HardwareConfig) -> Gemm | Alu | Requantise:
    """Of any kind that the machine has."""
    tokens = Tokens(push_prev=rng.random() < 0.5, push_next=rng.random() < 0.5)
    if rng.random() < 0.5:
        overwrite = Feature.OVERWRITE in config.features and rng.random() < 0.4
        return replace(GEMM, reset=rng.random() < 0.3, overwrite=overwrite, tokens=tokens)
    if Feature.REQUANTISE in config.features and rng.random() < 0.25:
        return random_mode(rng, tokens)
    op = rng.choice((*config.operations, *EARLY_OPS))
    has_inp = Feature.INPUT_OPERANDS in config.features
    from_inp = op is AluOp.RESIDUAL or (has_inp and rng.random() < 0.3)
    return replace(
        ALU,
        op=op,
        use_imm=not from_inp and rng.random() < 0.5,
        from_inp=from_inp,
        imm=rng.randint(-32768, 32767),
        tokens=tokens,
    )


def split(rng: random.Random, total: int, field_bits: int) -> tuple[int, int]:
    """An index as a loop offset and a micro-op's field."""
    field = rng.randint(0, min(total, (1 << field_bits) - 1))
    return total - field, field


def random_issue(
    rng: random.Random,
    config: HardwareConfig,
    instruction: Gemm | Alu | Requantise,
    mode: Requantise = OFF,
) -> Issue:
    """Indices within the memories, of which few, so that micro-ops meet; what is not used is not
    always within."""
    layout = uop_layout(config)
    acc, wgt = config.depth(MemoryId.ACC), config.depth(MemoryId.WGT)
    reads_acc = isinstance(instruction, Alu) and not instruction.from_inp
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
    par = (
        rng.choice((mode.par_base, PAR_DEPTH - 1)) if mode.active else rng.randrange(2 * PAR_DEPTH)
    )
    return Issue(
        instruction=instruction,
        index=0,
        last=False,
        offsets=MicroOp(dst_parts[0], src_parts[0], wgt_parts[0]),
        fields=MicroOp(dst_parts[1], src_parts[1], wgt_parts[1]),
        mode=mode,
        par_offset=max(0, par - mode.par_base),
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
    mode = OFF
    index = rng.randrange(1 << 31)
    while len(issues) < count:
        instruction = random_instruction(rng, config)
        index += 1
        length = 1 if isinstance(instruction, Requantise) else rng.randint(1, 5)
        for number in range(length):
            issue = random_issue(rng, config, instruction, mode)
            ahead = issues[-1] if issues else None
            if ahead is not None and rng.random() < 0.4:
                issue = with_dst_of(issue, ahead)
            if config.acc_read_ports == 1 and issue.second_acc:
                issues.append(None)
            issues.append(replace(issue, index=index, last=number == length - 1))
            if rng.random() < 0.2:
                issues.append(None)
        if isinstance(instruction, Requantise):
            mode = instruction
    return issues

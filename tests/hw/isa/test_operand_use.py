"""What instructions read and write, found in three ways that know nothing of each other: by
`hw.isa.operand_use`, by the checker of hazards, and by the RTL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from hypothesis import given, note
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.hazards import operands as hazards
from tandem.hw.isa import (
    Alu,
    AluOp,
    Finish,
    Gemm,
    Instruction,
    MemoryId,
    MicroOp,
    Program,
    Requantise,
    encode,
    encode_uop,
    validate,
)
from tandem.hw.isa.columns import Columns
from tandem.hw.isa.modes import active_modes, last_parameters
from tandem.hw.isa.operand_use import OPERANDS, operands_used, source_memory
from tandem.hw.rtl.micro_ops import MicroOps
from tandem.hw.rtl.pipeline import Pipeline
from tests.support.hw.rtl.rtl import Context, simulate

TINY = load_config("tiny")
EXTENDED = TINY.replace(name="extended", features=frozenset(Feature))
MACHINES = (TINY, EXTENDED, EXTENDED.replace(name="one-port", acc_read_ports=1))
OFF = Requantise(active=False)

Accesses = dict[tuple[str, MemoryId], set[int]]
"""By index and memory of an operand in use, the elements that the instruction accesses."""


@dataclass(frozen=True)
class Case:
    """A GEMM or ALU instruction, its micro-ops, and the mode that it executes in."""

    config: HardwareConfig
    instruction: Gemm | Alu
    kernel: tuple[MicroOp, ...]
    mode: Requantise

    @property
    def program(self) -> Program:
        """A legal program, of which the instruction is the second."""
        first: Instruction = self.mode
        if Feature.REQUANTISE not in self.config.features:
            first = replace(self.instruction, uop_end=self.instruction.uop_bgn + 1)
        return Program.from_instructions(self.config, [first, self.instruction, Finish()])


@st.composite
def cases(draw: st.DrawFn, config: HardwareConfig) -> Case:
    """Any case whose indices lie within all memories."""
    least = min(config.depth(memory) for memory in (MemoryId.INP, MemoryId.WGT, MemoryId.ACC))
    few, step = st.integers(1, 3), st.integers(0, least // 12)
    names = ("dst_factor_out", "dst_factor_in", "src_factor_out", "src_factor_in")
    kernel = draw(
        st.lists(st.builds(MicroOp, *[st.integers(0, least // 2)] * 3), min_size=1, max_size=3)
    )
    bgn = draw(st.integers(0, config.depth(MemoryId.UOP) - len(kernel)))
    loops: dict[str, Any] = {name: draw(step) for name in names}
    loops |= {"uop_bgn": bgn, "uop_end": bgn + len(kernel)}
    loops |= {"iter_out": draw(few), "iter_in": draw(few)}
    instruction: Gemm | Alu
    if draw(st.booleans()):
        instruction = Gemm(
            reset=draw(st.booleans()),
            overwrite=Feature.OVERWRITE in config.features and draw(st.booleans()),
            wgt_factor_out=draw(step),
            wgt_factor_in=draw(step),
            **loops,
        )
    else:
        op = draw(st.sampled_from(config.operations))
        inp = Feature.INPUT_OPERANDS in config.features and draw(st.booleans())
        inp |= op is AluOp.RESIDUAL
        imm, reset = draw(st.integers(-31, 31)), draw(st.booleans())
        use_imm = not inp and draw(st.booleans())
        instruction = Alu(op=op, use_imm=use_imm, imm=imm, reset=reset, from_inp=inp, **loops)
    mode = OFF
    if Feature.REQUANTISE in config.features and draw(st.booleans()):
        base, *factors = (draw(st.integers(0, least // 12)) for _ in range(3))
        mode = Requantise(
            active=True, par_base=base, par_factor_out=factors[0], par_factor_in=factors[1]
        )
    return Case(config, instruction, tuple(kernel), mode)


def by_operand_use(case: Case, columns: Columns) -> Accesses:
    """The loops of the second instruction, of the operands that `operands_used` names."""
    one, mode = case.instruction, case.mode
    found: Accesses = {}
    for operand, used in zip(OPERANDS, operands_used(columns), strict=True):
        if used[1]:
            outer = int(getattr(columns, f"{operand.index}_factor_out")[1])
            inner = int(getattr(columns, f"{operand.index}_factor_in")[1])
            fields = [getattr(uop, operand.index) for uop in case.kernel]
            found[operand.index, operand.memory] = reached(one, fields, outer, inner)
    if mode.active:
        parameters = reached(one, [mode.par_base], mode.par_factor_out, mode.par_factor_in)
        found["par", MemoryId.PAR] = parameters
        assert last_parameters(columns, active_modes(columns))[1] == max(parameters)
    return found


def reached(one: Gemm | Alu, fields: Sequence[int], outer: int, inner: int) -> set[int]:
    """The indices from `fields` in the two loops of an instruction."""
    return {
        field + o * outer + i * inner
        for field in fields
        for o in range(one.iter_out)
        for i in range(one.iter_in)
    }


def by_hazards(case: Case, columns: Columns) -> Accesses:
    """The sets that the checker of hazards compares."""
    words = b"".join(encode_uop(case.config, uop) for uop in case.kernel)
    kernels = [np.frombuffer(words, np.uint32)]
    found = hazards.operand_elements_of(
        case.config, columns, np.array([1]), kernels, np.zeros(1, np.int64)
    )
    return {
        (operand.field, operand.memory): {
            element for begin, end in found.sets.runs(number) for element in range(begin, end)
        }
        for operand, number in zip(hazards.OPERANDS, found.which[0].tolist(), strict=True)
        if number >= 0
    }


@dataclass(frozen=True)
class IssueToWrite:
    """The loop nest and the pipeline behind it, as in the compute unit, without memories."""

    circuit: Module
    micro_ops: MicroOps
    pipeline: Pipeline


@cache
def issue_to_write(config: HardwareConfig) -> IssueToWrite:
    """One for each machine, as most of a test is elaboration."""
    m = Module()
    m.submodules.micro_ops = micro_ops = MicroOps(config)
    m.submodules.pipeline = pipeline = Pipeline(config)
    m.d.comb += [
        micro_ops.stall.eq(pipeline.stall),
        pipeline.valid.eq(micro_ops.valid),
        pipeline.last.eq(micro_ops.last),
        pipeline.current.eq(micro_ops.current),
        pipeline.offsets.eq(micro_ops.offsets),
    ]
    if Feature.REQUANTISE in config.features:
        m.d.comb += pipeline.mode.eq(micro_ops.mode)
    return IssueToWrite(m, micro_ops, pipeline)


def by_rtl(case: Case) -> Accesses:
    """The addresses at the ports of the memories, from the issue to the last write."""
    block = issue_to_write(case.config)
    micro_ops, pipeline = block.micro_ops, block.pipeline
    requantises = Feature.REQUANTISE in case.config.features
    words = {
        number: int.from_bytes(encode_uop(case.config, uop), "little")
        for number, uop in enumerate(case.kernel, case.instruction.uop_bgn)
    }
    found: Accesses = {}
    ends = 0

    def sample(ctx: Context) -> bool:
        """Note what is accessed in this cycle; returns whether a product is computed."""
        nonlocal ends
        ends += ctx.get(pipeline.ends)
        ports = [
            ("dst", MemoryId.ACC, pipeline.dst_enable, pipeline.dst_address),
            ("dst", MemoryId.ACC, pipeline.write_enable, pipeline.write_address),
            ("src", MemoryId.ACC, pipeline.src_enable, pipeline.src_address),
            ("src", MemoryId.INP, pipeline.array_enable, pipeline.inp_address),
            ("wgt", MemoryId.WGT, pipeline.array_enable, pipeline.wgt_address),
        ]
        if requantises:
            ports.append(("par", MemoryId.PAR, pipeline.par_enable, pipeline.par_address))
        for index, memory, enable, address in ports:
            if ctx.get(enable):
                found.setdefault((index, memory), set()).add(ctx.get(address))
        assert not ctx.get(pipeline.bad_index)
        return bool(ctx.get(pipeline.mac_enable) >> 1)

    async def bench(ctx: Context) -> None:
        multiplies = False
        program: list[Instruction] = [case.mode] * requantises
        for number, one in enumerate([*program, case.instruction], 1):
            ctx.set(micro_ops.word, int.from_bytes(encode(case.config, one), "little"))
            ctx.set(micro_ops.start, 1)
            await ctx.tick()
            ctx.set(micro_ops.start, 0)
            while ends < number:
                read = ctx.get(micro_ops.uop) if ctx.get(micro_ops.valid) else -1
                multiplies |= sample(ctx)
                await ctx.tick()
                if read in words:
                    ctx.set(pipeline.uop.as_value(), words[read])
        if not multiplies:
            # Both are read at once: without a product, what WGT answers is not used.
            found.pop(("wgt", MemoryId.WGT), None)

    simulate(block.circuit, bench)
    return found


@pytest.mark.parametrize("config", MACHINES, ids=lambda config: config.name)
@given(data=st.data())
def test_three_ways_to_find_what_an_instruction_accesses(
    config: HardwareConfig, data: st.DataObject
) -> None:
    case = data.draw(cases(config))
    validate(case.program)
    columns = case.program.columns()
    accesses = by_operand_use(case, columns)
    note(str(accesses))
    assert by_hazards(case, columns) == accesses
    assert by_rtl(case) == accesses


@given(data=st.data())
def test_one_instruction_alone(data: st.DataObject) -> None:
    """By the fields of a row, as compiled code sees it, and by its memory of sources."""
    case = data.draw(cases(data.draw(st.sampled_from(MACHINES))))
    columns = case.program.columns()
    for position in range(3):
        row = columns.row(position)
        alone, together = operands_used(row), operands_used(columns)
        assert [bool(used) for used in alone] == [bool(used[position]) for used in together]
    sources = [memory for index, memory in by_operand_use(case, columns) if index == "src"]
    assert sources == [memory for memory in (source_memory(columns.row(1)),) if memory is not None]
    assert source_memory(columns.row(2)) is None

"""Bytes and micro-ops of a program of a few instructions, counted by hand."""

from __future__ import annotations

from dataclasses import replace

from tandem.hw.config_files import load_config
from tandem.hw.isa import (
    Alu,
    AluOp,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    Opcode,
    Program,
    Store,
)
from tandem.hw.isa.work import work_of

TINY = load_config("tiny")
LOAD = Load(memory=MemoryId.INP, sram_base=0, dram_base=0, y_size=3, x_size=2, x_stride=9)
GEMM = Gemm(
    reset=False,
    uop_bgn=2,
    uop_end=5,
    iter_out=7,
    iter_in=2,
    dst_factor_out=0,
    dst_factor_in=0,
    src_factor_out=0,
    src_factor_in=0,
    wgt_factor_out=0,
    wgt_factor_in=0,
)
ALU = Alu(
    op=AluOp.ADD,
    use_imm=True,
    imm=0,
    uop_bgn=0,
    uop_end=1,
    iter_out=4,
    iter_in=5,
    dst_factor_out=0,
    dst_factor_in=0,
    src_factor_out=0,
    src_factor_in=0,
)


def test_work_of_a_program() -> None:
    """INP and OUT have elements of 4 bytes, WGT of 16; padding is not read."""
    program: list[Instruction] = [
        LOAD,
        replace(LOAD, x_pad_0=3, y_pad_1=4, x_size=1),
        replace(LOAD, memory=MemoryId.WGT, y_size=5),
        replace(LOAD, memory=MemoryId.UOP, x_size=0),
        GEMM,
        replace(GEMM, uop_end=3),
        replace(GEMM, reset=True, iter_in=1),
        ALU,
        Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=6, x_size=7, x_stride=7),
        Finish(),
    ]
    work = work_of(Program.from_instructions(TINY, program))
    assert work.loaded == {
        MemoryId.UOP: 0,
        MemoryId.WGT: 10 * 16,
        MemoryId.INP: 6 * 4 + 3 * 4,
        MemoryId.ACC: 0,
        MemoryId.ACC_8BIT: 0,
        MemoryId.PAR: 0,
        MemoryId.WGT_CODES: 0,
    }
    assert work.stored == 42 * 4
    assert (work.gemm_uops, work.reset_uops, work.alu_uops) == (3 * 14 + 14, 3 * 7, 20)
    assert work.instructions == {
        Opcode.LOAD: 4,
        Opcode.STORE: 1,
        Opcode.GEMM: 3,
        Opcode.FINISH: 1,
        Opcode.ALU: 1,
        Opcode.REQUANTISE: 0,
        Opcode.TABLE: 0,
    }


def test_no_work() -> None:
    work = work_of(Program.from_instructions(TINY, [Finish()]))
    assert sum(work.loaded.values()) + work.stored + work.gemm_uops + work.alu_uops == 0

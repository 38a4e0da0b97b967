"""The smallest instruction of each unit, of which tests change what they are about."""

from __future__ import annotations

from tandem.hw.isa import Alu, AluOp, Gemm, Load, MemoryId, Store

LOAD = Load(memory=MemoryId.INP, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
STORE = Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
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
ALU = Alu(
    op=AluOp.SHR,
    use_imm=True,
    imm=0,
    uop_bgn=0,
    uop_end=1,
    iter_out=1,
    iter_in=1,
    dst_factor_out=0,
    dst_factor_in=0,
    src_factor_out=0,
    src_factor_in=0,
)

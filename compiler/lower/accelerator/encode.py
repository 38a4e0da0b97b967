"""Commands with tokens, as instructions of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import assert_never

from compiler.lower.accelerator.commands import Compute, Copy
from compiler.lower.accelerator.residency import KernelStore, Resident
from compiler.lower.accelerator.tokens import Slot
from hw.config import HardwareConfig
from hw.isa import Alu, Finish, Gemm, Instruction, Load, MicroOp, Program, Store, Tokens, pack_uops
from hw.memories import MemoryId, Module

__all__ = ["encode_kernels", "encode_stream"]


def encode_stream(slots: Sequence[Slot], config: HardwareConfig) -> Program:
    """The program: an instruction for each slot, and FINISH.

    Raises
    ------
    hw.errors.EncodingError
        For a number that a field has no room for; names the instruction.
    """
    instructions = (_instruction(each) for each in slots)
    return Program.from_instructions(config, chain(instructions, (Finish(),)))


def encode_kernels(store: KernelStore, config: HardwareConfig) -> bytes:
    """Micro-ops as they lie in DRAM."""
    uops = (
        MicroOp(dst, src, wgt)
        for kernel in store.kernels
        for dst, src, wgt in zip(kernel.dst, kernel.src, kernel.wgt, strict=True)
    )
    return pack_uops(config, uops)


def _instruction(slot: Slot) -> Instruction:
    tokens = _tokens(slot)
    if slot.what is None:
        return Load(
            memory=MemoryId.UOP,
            sram_base=0,
            dram_base=0,
            y_size=0,
            x_size=0,
            x_stride=0,
            tokens=tokens,
        )
    match slot.what.command:
        case Copy() as copy:
            return _copy(copy, tokens)
        case Compute() as compute:
            return _compute(compute, slot.what, tokens)
        case other:
            assert_never(other)


_BEFORE = {Module.COMPUTE: Module.LOAD, Module.STORE: Module.COMPUTE}
_BEHIND = {Module.LOAD: Module.COMPUTE, Module.COMPUTE: Module.STORE}
"""`prev` and `next`: neighbours in the order load, compute, store."""


def _tokens(slot: Slot) -> Tokens:
    before, behind = _BEFORE.get(slot.module), _BEHIND.get(slot.module)
    return Tokens(
        pop_prev=before in slot.pops,
        pop_next=behind in slot.pops,
        push_prev=before in slot.pushes,
        push_next=behind in slot.pushes,
    )


def _copy(copy: Copy, tokens: Tokens) -> Load | Store:
    above, below, left, right = copy.pads
    kind = Store if copy.memory is MemoryId.OUT else Load
    return kind(
        memory=copy.memory,
        sram_base=copy.sram,
        dram_base=copy.dram,
        y_size=copy.rows,
        x_size=copy.columns,
        x_stride=copy.stride,
        y_pad_0=above,
        y_pad_1=below,
        x_pad_0=left,
        x_pad_1=right,
        tokens=tokens,
    )


def _compute(compute: Compute, resident: Resident, tokens: Tokens) -> Gemm | Alu:
    outer, inner = compute.outer, compute.inner
    begin = resident.uop
    if compute.op is None:
        return Gemm(
            reset=compute.reset,
            uop_bgn=begin,
            uop_end=begin + len(compute.kernel),
            iter_out=outer.extent,
            iter_in=inner.extent,
            dst_factor_out=outer.dst,
            dst_factor_in=inner.dst,
            src_factor_out=outer.src,
            src_factor_in=inner.src,
            wgt_factor_out=outer.wgt,
            wgt_factor_in=inner.wgt,
            tokens=tokens,
        )
    assert not isinstance(compute.imm, str), "a number by now"
    return Alu(
        op=compute.op,
        use_imm=compute.imm is not None,
        imm=compute.imm or 0,
        uop_bgn=begin,
        uop_end=begin + len(compute.kernel),
        iter_out=outer.extent,
        iter_in=inner.extent,
        dst_factor_out=outer.dst,
        dst_factor_in=inner.dst,
        src_factor_out=outer.src,
        src_factor_in=inner.src,
        tokens=tokens,
    )

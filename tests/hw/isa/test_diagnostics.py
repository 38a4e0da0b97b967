"""The message of each rule that one instruction breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import (
    Alu,
    AluOp,
    Coding,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    Program,
    Requantise,
    Store,
    Table,
    Tokens,
    encode,
)
from tandem.hw.isa.diagnostics import describe
from tests.support.hw.custom_operations import OPERATIONS, machine

PYNQ = load_config("pynq")
EXTENDED = PYNQ.replace(name="extended", features=frozenset(Feature))
OWN = machine((*OPERATIONS[:2], ("ALONE", "a + 1", {})), 2)
CLIP, _, ALONE = OWN.alu_operations
LOAD = Load(memory=MemoryId.INP, sram_base=7, dram_base=0, y_size=2, x_size=3, x_stride=3)
STORE = Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=1, x_size=9, x_stride=1)
LOOPS = {"uop_bgn": 4, "uop_end": 3, "iter_out": 0, "iter_in": 5}
STEPS = {f"{name}_factor_{loop}": 0 for name in ("dst", "src") for loop in ("out", "in")}
GEMM = Gemm(reset=False, wgt_factor_out=0, wgt_factor_in=0, **LOOPS, **STEPS)  # type: ignore[arg-type]
ALU = Alu(op=AluOp.SHR, use_imm=True, imm=-32, **LOOPS, **STEPS)  # type: ignore[arg-type]


def raw(config: HardwareConfig, instruction: Instruction, bits: int) -> bytes:
    """An instruction's word with further bits."""
    return (int.from_bytes(encode(config, instruction), "little") | bits).to_bytes(16, "little")


@pytest.mark.parametrize(
    ("config", "word", "fault", "message"),
    [
        (PYNQ, b"\x06" + bytes(15), Fault.OPCODE, "opcode 6 is none of 0..4"),
        (EXTENDED, b"\x07" + bytes(15), Fault.OPCODE, "opcode 7 is none of 0..6"),
        (
            *(PYNQ, b"\x81\x03" + bytes(14), Fault.MEMORY_ID),
            "STORE of memory id 7: it is none of 0..5",
        ),
        (PYNQ, LOAD, Fault.LOAD_OUT, "LOAD of OUT: that memory can only be stored"),
        (
            *(PYNQ, replace(STORE, memory=MemoryId.WGT), Fault.STORE_MEMORY),
            "STORE of WGT: only OUT can be stored",
        ),
        (
            *(PYNQ, replace(STORE, y_pad_0=1, y_pad_1=2, x_pad_0=3, x_pad_1=4), Fault.STORE_PAD),
            "STORE with padding (y_pad_0 1, y_pad_1 2, x_pad_0 3, x_pad_1 4): only a LOAD can pad",
        ),
        (
            *(PYNQ, STORE, Fault.NO_ROWS),
            "STORE of y_size 0 with x_size 9: y_size must be 1 or more",
        ),
        (PYNQ, GEMM, Fault.LOOP_COUNT, "GEMM with iter_out 0, iter_in 5: both must be 1 or more"),
        (
            *(PYNQ, ALU, Fault.UOP_RANGE),
            "ALU over micro-ops 4..3 (end excluded): uop_end must lie in 5..8192",
        ),
        (PYNQ, ALU, Fault.SHIFT, "SHR by -32: it must lie in -31..31"),
        (
            *(PYNQ, replace(LOAD, x_pad_1=1), Fault.SRAM_RANGE),
            "LOAD covers INP elements 7..15 (end excluded): the memory has 2048",
        ),
        (
            *(PYNQ, replace(LOAD, tokens=Tokens(pop_prev=True, push_prev=True, push_next=True))),
            *(Fault.TOKEN_FLAG, "LOAD with pop_prev and push_prev: no unit comes before load"),
        ),
        (
            *(PYNQ, replace(STORE, tokens=Tokens(pop_next=True, pop_prev=True)), Fault.TOKEN_FLAG),
            "STORE with pop_next: no unit comes after store",
        ),
        (
            EXTENDED,
            Table(entries_low=0, entries_high=0, tokens=Tokens(push_prev=True)),
            *(Fault.TOKEN_FLAG, "TABLE with push_prev: no unit comes before load"),
        ),
        (
            *(PYNQ, raw(PYNQ, ALU, 6 << 108), Fault.FEATURE),
            "ALU opcode 7 is an extension that pynq lacks",
        ),
        (
            *(OWN, replace(ALU, op=ALONE, use_imm=False, imm=0), Fault.FEATURE),
            "ALU ALONE without use_imm: it has no second operand",
        ),
        (
            *(OWN, replace(ALU, op=CLIP), Fault.FEATURE),
            "ALU CLIP with use_imm: its second operand lies in memory, beside its parameters",
        ),
        (
            *(EXTENDED, replace(ALU, op=AluOp.ADD, from_inp=True), Fault.FEATURE),
            "ALU with from_inp and use_imm: it has one second operand",
        ),
        (
            *(EXTENDED, replace(ALU, op=AluOp.RESIDUAL, use_imm=False), Fault.FEATURE),
            "ALU RESIDUAL without from_inp: its second operand lies in INP",
        ),
        (
            *(EXTENDED, replace(LOAD, coding=Coding.BITS_4), Fault.FEATURE),
            "LOAD of INP with coding 2: only WGT_CODES has codes",
        ),
        (
            *(PYNQ, raw(PYNQ, GEMM, 1 << 63), Fault.FEATURE),
            "GEMM sets bit 63, which no field has: it would belong to an extension that pynq lacks",
        ),
        (
            *(EXTENDED, raw(EXTENDED, Requantise(active=False), 1 << 127), Fault.FEATURE),
            "REQUANTISE sets bit 127, which no field has: it would belong to an extension that "
            "extended lacks",
        ),
        (
            *(PYNQ, GEMM, Fault.SRAM_INDEX),
            "GEMM's loop factors reach beyond a memory whatever the micro-ops hold",
        ),
        (
            *(PYNQ, LOAD, Fault.AFTER_FINISH),
            "LOAD after FINISH: FINISH must be the last instruction",
        ),
        (
            *(PYNQ, b"\x07" + bytes(15), Fault.AFTER_FINISH),
            "? after FINISH: FINISH must be the last instruction",
        ),
    ],
)
def test_messages(
    config: HardwareConfig, word: Instruction | bytes, fault: Fault, message: str
) -> None:
    """Of the second instruction; the first has other fields."""
    data = word if isinstance(word, bytes) else encode(config, word)
    program = Program(config, encode(config, replace(LOAD, sram_base=99)) + data)
    assert describe(config, program.columns(), 1, fault) == message


def test_faults_of_no_single_instruction() -> None:
    program = Program(PYNQ, encode(PYNQ, LOAD))
    with pytest.raises(ValueError, match=r"^DEADLOCK is no rule of a single instruction$"):
        describe(PYNQ, program.columns(), 0, Fault.DEADLOCK)

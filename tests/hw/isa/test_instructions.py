"""Instructions as values: their opcodes and units, the entries of a TABLE."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from tandem.hw.encoding import Opcode
from tandem.hw.isa.instructions import (
    NO_TOKENS,
    Alu,
    Finish,
    Gemm,
    Instruction,
    Load,
    MicroOp,
    Requantise,
    Store,
    Table,
    Tokens,
    opcode_of,
    unit_of,
)
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId, Unit

_LOAD = Load(memory=MemoryId.INP, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
_STORE = Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
_LOOPS = {"uop_bgn": 0, "uop_end": 1, "iter_out": 1, "iter_in": 1}
_STEPS = {f"{name}_factor_{loop}": 0 for name in ("dst", "src") for loop in ("out", "in")}
_GEMM = Gemm(reset=False, wgt_factor_out=0, wgt_factor_in=0, **_LOOPS, **_STEPS)  # type: ignore[arg-type]
_ALU = Alu(op=AluOp.ADD, use_imm=True, imm=1, **_LOOPS, **_STEPS)  # type: ignore[arg-type]
_TABLE = Table(entries_low=0, entries_high=0)


@pytest.mark.parametrize(
    ("instruction", "opcode", "unit"),
    [
        (_LOAD, 0, Unit.LOAD),
        (replace(_LOAD, memory=MemoryId.WGT), 0, Unit.LOAD),
        (replace(_LOAD, memory=MemoryId.PAR), 0, Unit.LOAD),
        (replace(_LOAD, memory=MemoryId.WGT_CODES), 0, Unit.LOAD),
        (replace(_LOAD, memory=MemoryId.UOP), 0, Unit.COMPUTE),
        (replace(_LOAD, memory=MemoryId.ACC), 0, Unit.COMPUTE),
        (replace(_LOAD, memory=MemoryId.ACC_8BIT), 0, Unit.COMPUTE),
        (replace(_LOAD, memory=MemoryId.OUT), 0, Unit.COMPUTE),
        (_STORE, 1, Unit.STORE),
        (replace(_STORE, memory=MemoryId.INP), 1, Unit.STORE),
        (_GEMM, 2, Unit.COMPUTE),
        (Finish(), 3, Unit.COMPUTE),
        (_ALU, 4, Unit.COMPUTE),
        (Requantise(active=True), 5, Unit.COMPUTE),
        (_TABLE, 6, Unit.LOAD),
    ],
)
def test_opcode_and_unit(instruction: Instruction, opcode: int, unit: Unit) -> None:
    assert opcode_of(instruction) is Opcode(opcode)
    assert unit_of(instruction) is unit


def test_entries_are_bytes_with_a_sign_the_first_in_the_lowest() -> None:
    table = Table(entries_low=0x80FF7F01, entries_high=0x00FE0380)
    words = np.array([table.entries_low, table.entries_high], "<u4")
    assert table.entries == (1, 127, -1, -128, -128, 3, -2, 0)
    assert list(table.entries) == words.view(np.int8).tolist()


def test_what_an_instruction_has_that_does_not_say_it() -> None:
    assert NO_TOKENS == Tokens(pop_prev=False, pop_next=False, push_prev=False, push_next=False)
    found = Requantise(active=True)
    assert (found.low, found.high, found.scale, found.par_base) == (-128, 127, 0, 0)
    assert (found.par_factor_out, found.par_factor_in, found.tokens) == (0, 0, NO_TOKENS)
    assert (_LOAD.y_pad_0, _LOAD.y_pad_1, _LOAD.x_pad_0, _LOAD.x_pad_1) == (0, 0, 0, 0)
    assert (_LOAD.coding.bits, _LOAD.coding.scaled) == (1, False)
    assert (_STORE.y_pad_0, _STORE.y_pad_1, _STORE.x_pad_0, _STORE.x_pad_1) == (0, 0, 0, 0)
    assert (_GEMM.overwrite, _ALU.reset, _ALU.from_inp, _TABLE.upper_half) == (False,) * 4
    assert MicroOp(5) == MicroOp(5, 0, 0)


def test_instructions_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        _LOAD.sram_base = 1  # type: ignore[misc]  # the refusal is what is tested

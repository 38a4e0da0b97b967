"""Programs as sequences and as columns."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.encoding import instruction_layout
from tandem.hw.errors import EncodingError, ProgramError
from tandem.hw.isa import (
    Columns,
    Finish,
    Gemm,
    Load,
    MemoryId,
    Opcode,
    Program,
    Tokens,
    unit_of,
    work_of,
)
from tests.support.hw.strategies import configs, instructions
from tests.support.hw.vectors import load_vector, vector_names

PYNQ = load_config("pynq")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"^empty program: it must hold at least a FINISH"),
        (bytes(15), r"^truncated program: 15 bytes are 0 instructions of 16 bytes and 15 bytes"),
        (bytes(33), r"^truncated program: 33 bytes are 2 instructions of 16 bytes and 1 bytes"),
    ],
)
def test_refuses_truncated_bytes(data: bytes, message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        Program.from_bytes(PYNQ, data)


def test_encoding_error_names_the_instruction() -> None:
    bad = Load(memory=MemoryId.INP, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=-1)
    with pytest.raises(EncodingError, match=r"^instruction 1: LOAD x_stride is -1"):
        Program.from_instructions(PYNQ, [Finish(), bad])


def test_indexing() -> None:
    finish = Finish(tokens=Tokens(pop_prev=True))
    program = Program.from_instructions(PYNQ, [Finish(), finish])
    assert len(program) == 2
    assert program[1] == program[-1] == finish
    assert list(program) == [Finish(), finish]
    with pytest.raises(IndexError, match=r"^instruction 2 of a program of 2$"):
        program[2]
    with pytest.raises(ProgramError, match=r"^instruction 0: opcode 7"):
        Program(PYNQ, b"\x07" + bytes(15))[0]


@given(data=st.data())
def test_columns_are_the_fields(data: st.DataObject) -> None:
    config = data.draw(configs())
    drawn = data.draw(st.lists(instructions(config), min_size=1, max_size=8))
    program = Program.from_instructions(config, drawn)
    assert list(program) == drawn
    columns = program.columns()
    for position in range(len(program)):
        word = int.from_bytes(program.word(position), "little")
        expected = dict.fromkeys((column.name for column in fields(Columns)), 0)
        for field in instruction_layout(config, Opcode(word & 7)):
            value = word >> field.lsb & ((1 << field.width) - 1)
            low = field.limits[0]
            expected[field.name] = (value - low) % (1 << field.width) + low
        found = {name: int(getattr(columns, name)[position]) for name in expected}
        assert found == expected
    assert program.units().tolist() == [unit_of(instruction) for instruction in drawn]


def test_columns_of_what_is_no_instruction() -> None:
    program = Program(PYNQ, b"\xff" * 16 + b"\x00\x03" + bytes(14))
    columns = program.columns()
    assert columns.opcode.tolist() == [7, 0]
    assert columns.push_next.tolist() == [1, 0]
    assert columns.sram_base.tolist() == columns.imm.tolist() == [0, 0]
    assert columns.memory_type.tolist() == [0, 6]
    assert program.units().tolist() == [-1, 0]
    assert all(getattr(columns, field.name).dtype == np.int64 for field in fields(Columns))


@pytest.mark.parametrize("name", vector_names())
def test_work_of_vectors(name: str) -> None:
    vector = load_vector(name)
    work = work_of(vector.program)
    # The vectors count an 8-bit accumulator by what it becomes, this machine by what it reads.
    accumulators = work.loaded[MemoryId.ACC] + 4 * work.loaded[MemoryId.ACC_8BIT]
    assert vector.profile == {
        "inp_load_nbytes": work.loaded[MemoryId.INP],
        "wgt_load_nbytes": work.loaded[MemoryId.WGT],
        "acc_load_nbytes": accumulators,
        "uop_load_nbytes": work.loaded[MemoryId.UOP],
        "out_store_nbytes": work.stored,
        "gemm_counter": work.gemm_uops,
        "alu_counter": work.alu_uops,
    }
    kinds = {kind: 0 for kind in Opcode}
    for instruction in vector.program:
        kinds[Opcode[type(instruction).__name__.upper()]] += 1
    assert work.instructions == kinds
    resets = [one for one in vector.program if isinstance(one, Gemm) and one.reset]
    assert work.reset_uops == sum(
        (one.uop_end - one.uop_bgn) * one.iter_out * one.iter_in for one in resets
    )

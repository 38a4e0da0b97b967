"""Columns to bytes: what `Program.from_instructions` makes, for whole programs at once."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.encoding import Field, instruction_layout, opcodes_of
from tandem.hw.errors import EncodingError
from tandem.hw.features import Feature
from tandem.hw.isa import (
    Columns,
    Finish,
    Instruction,
    MicroOp,
    Opcode,
    Program,
    Tokens,
    pack_uop_columns,
    pack_uops,
)
from tandem.hw.isa.columns import Ints
from tests.support.hw.strategies import configs, instructions, micro_ops
from tests.support.hw.vectors import load_vector, vector_names

PYNQ = load_config("pynq")
EXTENDED = PYNQ.replace(name="extended", features=frozenset(Feature))
LOAD, STORE, GEMM, FINISH, ALU, REQUANTISE, TABLE = Opcode
KINDS = [(config, opcode) for config in (PYNQ, EXTENDED) for opcode in opcodes_of(config)]
"""Every kind of instruction, with and without extensions."""


def blank(*opcodes: int) -> Columns:
    """Instructions with these opcodes, all other fields 0."""
    columns = {field.name: np.zeros(len(opcodes), dtype=np.int64) for field in fields(Columns)}
    return Columns(**columns | {"opcode": np.array(opcodes, dtype=np.int64)})


def fields_of(config: HardwareConfig, opcode: Opcode) -> tuple[Field, ...]:
    return instruction_layout(config, opcode).fields


def assert_same(found: Columns, expected: Columns) -> None:
    for field in fields(Columns):
        column = getattr(found, field.name)
        assert column.dtype == np.int64
        np.testing.assert_array_equal(column, getattr(expected, field.name), field.name)


# What fits ----------------------------------------------------------------------------------


@given(data=st.data())
def test_equals_the_program_of_instructions(data: st.DataObject) -> None:
    config = data.draw(configs())
    drawn: list[Instruction] = data.draw(st.lists(instructions(config), min_size=1, max_size=8))
    program = Program.from_instructions(config, drawn)
    assert Program.from_columns(config, program.columns()) == program


@given(words=st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=8))
def test_any_words_survive_but_for_bits_of_no_field(words: list[bytes]) -> None:
    columns = Program(PYNQ, b"".join(words)).columns()
    clean = replace(columns, unused=np.zeros_like(columns.unused))
    again = Program.from_columns(PYNQ, clean)
    assert_same(again.columns(), clean)
    assert Program.from_columns(PYNQ, again.columns()) == again


@given(words=st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=8))
def test_the_lowest_bit_of_no_field(words: list[int]) -> None:
    data = b"".join(word.to_bytes(16, "little") for word in words)
    for word, found in zip(words, Program(PYNQ, data).columns().unused, strict=True):
        opcode = word & 7
        unused = word & instruction_layout(PYNQ, Opcode(opcode)).unused if opcode <= 4 else 0
        assert found == (unused & -unused).bit_length()


def test_a_bit_of_no_field_cannot_be_encoded() -> None:
    columns = replace(blank(GEMM, GEMM), unused=np.array([0, 64]))
    with pytest.raises(EncodingError, match=r"^instruction 1: GEMM unused is 64: "):
        Program.from_columns(PYNQ, columns)


@pytest.mark.parametrize("name", vector_names())
def test_vector_round_trip(name: str) -> None:
    program = load_vector(name).program
    assert Program.from_columns(program.config, program.columns()) == program


@given(data=st.data())
def test_micro_ops_equal_those_of_instructions(data: st.DataObject) -> None:
    config = data.draw(configs())
    drawn: list[MicroOp] = data.draw(st.lists(micro_ops(config), max_size=8))
    table = np.array([(uop.dst, uop.src, uop.wgt) for uop in drawn], dtype=np.int64)
    dst, src, wgt = table.reshape(-1, 3).T
    assert pack_uop_columns(config, dst, src, wgt) == pack_uops(config, drawn)


def test_no_instructions_are_no_program() -> None:
    with pytest.raises(EncodingError, match=r"^empty program"):
        Program.from_columns(PYNQ, blank())


# What does not --------------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "opcode"), KINDS)
def test_refuses_what_does_not_fit(config: HardwareConfig, opcode: Opcode) -> None:
    for field in fields_of(config, opcode)[1:]:
        low, high = field.limits
        for value in (low - 1, high + 1, -(1 << 63), (1 << 63) - 1):
            columns = blank(FINISH, opcode, opcode)
            getattr(columns, field.name)[1:] = value
            message = (
                rf"^instruction 1: {opcode.name} {field.name} is {value}: "
                rf"it must lie in {low}\.\.{high}$"
            )
            with pytest.raises(EncodingError, match=message):
                Program.from_columns(config, columns)


@pytest.mark.parametrize(("config", "opcode"), KINDS)
def test_refuses_values_of_fields_that_the_kind_does_not_have(
    config: HardwareConfig, opcode: Opcode
) -> None:
    present = {field.name for field in fields_of(config, opcode)}
    absent = [field.name for field in fields(Columns) if field.name not in present]
    assert absent
    for name in absent:
        columns = blank(opcode, opcode)
        getattr(columns, name)[1] = 1
        message = rf"^instruction 1: {opcode.name} {name} is 1: it must lie in 0\.\.0$"
        with pytest.raises(EncodingError, match=message):
            Program.from_columns(config, columns)


@pytest.mark.parametrize("value", [-1, 8, 1 << 40])
def test_refuses_an_opcode_that_does_not_fit(value: int) -> None:
    message = rf"^instruction 1: opcode is {value}: it must lie in 0\.\.7$"
    with pytest.raises(EncodingError, match=message):
        Program.from_columns(PYNQ, blank(FINISH, value, GEMM))


def test_the_earliest_instruction_is_named_and_of_it_the_first_field() -> None:
    columns = blank(ALU, LOAD, GEMM)
    columns.imm[0] = 32767
    columns.iter_in[2] = -1
    columns.y_size[1] = columns.x_size[1] = -1
    with pytest.raises(EncodingError, match=r"^instruction 1: LOAD y_size is -1: "):
        Program.from_columns(PYNQ, columns)
    columns.imm[0] = 32768
    with pytest.raises(EncodingError, match=r"^instruction 0: ALU imm is 32768: .*-32768\.\.32767"):
        Program.from_columns(PYNQ, columns)


def test_an_illegal_opcode_keeps_its_flags() -> None:
    columns = blank(FINISH, 6)
    columns.pop_prev[:] = 1
    program = Program.from_columns(PYNQ, columns)
    assert program[0] == Finish(tokens=Tokens(pop_prev=True))
    assert program.word(1) == bytes([6 | 1 << 3]) + bytes(15)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.zeros(2, dtype=np.int32), "an array of int32 with 1 dimensions"),
        (np.zeros(2), "an array of float64 with 1 dimensions"),
        (np.zeros((2, 1), dtype=np.int64), "an array of int64 with 2 dimensions"),
        (np.zeros(3, dtype=np.int64), "has 3 entries, and opcode has 2"),
    ],
)
def test_refuses_other_arrays(column: npt.NDArray[Any], message: str) -> None:
    columns = replace(blank(GEMM, FINISH), iter_in=column)
    with pytest.raises(EncodingError, match=rf"^column iter_in (is )?{message}"):
        Program.from_columns(PYNQ, columns)


def numbers(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def test_refuses_micro_ops_that_do_not_fit() -> None:
    zeros = numbers(0, 0, 0)
    with pytest.raises(
        EncodingError, match=r"^micro-op 1: micro-op wgt is 1024: it must lie in 0\.\.1023$"
    ):
        pack_uop_columns(PYNQ, numbers(0, 0, -1), zeros, numbers(0, 1024, 0))
    with pytest.raises(EncodingError, match=r"^micro-op 0: micro-op dst is -1: "):
        pack_uop_columns(PYNQ, numbers(-1, 0, 0), numbers(-1, 0, 0), zeros)
    with pytest.raises(EncodingError, match=r"^column wgt has 2 entries, and dst has 3"):
        pack_uop_columns(PYNQ, zeros, zeros, numbers(0, 0))

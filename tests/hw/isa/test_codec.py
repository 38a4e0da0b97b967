"""Instructions to bits and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.encoding import (
    WordLayout,
    alu_layout,
    gemm_layout,
    instruction_layout,
    memory_layout,
    uop_layout,
)
from tandem.hw.errors import EncodingError, ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import (
    AluOp,
    Codec,
    Finish,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Requantise,
    Store,
    Table,
    Tokens,
    Unit,
    decode,
    decode_uop,
    encode,
    encode_uop,
    unit_of,
)
from tandem.hw.isa.instructions import opcode_of
from tests.support.hw.instructions import ALU as SHR
from tests.support.hw.instructions import GEMM
from tests.support.hw.strategies import configs, instructions, micro_ops
from tests.support.hw.vectors import load_vector, vector_names

PYNQ = load_config("pynq")
SMALL8 = load_config("small8")

LOAD = Load(memory=MemoryId.INP, sram_base=1, dram_base=2, y_size=3, x_size=4, x_stride=5)
ALU = replace(SHR, op=AluOp.ADD, imm=-1)


def places(layout: WordLayout) -> dict[str, tuple[int, int]]:
    return {field.name: (field.lsb, field.width) for field in layout}


# Where the fields lie -----------------------------------------------------------------------

HEADER = {
    "opcode": (0, 3),
    "pop_prev": (3, 1),
    "pop_next": (4, 1),
    "push_prev": (5, 1),
    "push_next": (6, 1),
}
LOOPS = {
    "reset_reg": (7, 1),
    "uop_bgn": (8, 13),
    "uop_end": (21, 14),
    "iter_out": (35, 14),
    "iter_in": (49, 14),
    "dst_factor_out": (64, 11),
    "dst_factor_in": (75, 11),
    "src_factor_out": (86, 11),
    "src_factor_in": (97, 11),
}


@pytest.mark.parametrize("name", ["pynq", "small8", "big32"])
def test_memory_fields(name: str) -> None:
    assert places(memory_layout(load_config(name))) == HEADER | {
        "memory_type": (7, 3),
        "sram_base": (10, 16),
        "dram_base": (26, 32),
        "y_size": (64, 16),
        "x_size": (80, 16),
        "x_stride": (96, 16),
        "y_pad_0": (112, 4),
        "y_pad_1": (116, 4),
        "x_pad_0": (120, 4),
        "x_pad_1": (124, 4),
    }


def test_loop_fields_of_the_default() -> None:
    wgt = {"wgt_factor_out": (108, 10), "wgt_factor_in": (118, 10)}
    assert places(gemm_layout(PYNQ)) == HEADER | LOOPS | wgt
    alu = {"alu_opcode": (108, 3), "use_imm": (111, 1), "imm": (112, 16)}
    assert places(alu_layout(PYNQ)) == HEADER | LOOPS | alu
    assert places(uop_layout(PYNQ)) == {"dst": (0, 11), "src": (11, 11), "wgt": (22, 10)}


def test_loop_fields_of_small8() -> None:
    gemm = places(gemm_layout(SMALL8))
    factors = [f"{what}_factor_{loop}" for what in ("dst", "src", "wgt") for loop in ("out", "in")]
    assert [gemm[name][0] for name in factors] == [53, 64, 71, 78, 85, 91]
    alu = places(alu_layout(SMALL8))
    assert [alu[name] for name in ("alu_opcode", "use_imm", "imm")] == [(85, 3), (88, 1), (89, 16)]


# Goldens ------------------------------------------------------------------------------------


def bits(fields: Iterable[tuple[int, int]]) -> bytes:
    """16 bytes with each value at its bit."""
    return sum(value << lsb for lsb, value in fields).to_bytes(16, "little")


def test_load_spelt_out() -> None:
    load = replace(LOAD, y_pad_0=6, y_pad_1=7, x_pad_0=8, x_pad_1=9, tokens=Tokens(pop_next=True))
    fields = ((0, 0), (4, 1), (7, 2), (10, 1), (26, 2), (64, 3), (80, 4), (96, 5))
    expected = bits((*fields, (112, 6), (116, 7), (120, 8), (124, 9)))
    assert encode(PYNQ, load) == expected
    assert decode(PYNQ, expected) == load


def test_store_spelt_out() -> None:
    store = Store(
        memory=MemoryId.OUT,
        sram_base=65535,
        dram_base=2**32 - 1,
        y_size=65535,
        x_size=65535,
        x_stride=65535,
        tokens=Tokens(pop_prev=True, push_prev=True),
    )
    top = (10, 65535), (26, 2**32 - 1), (64, 65535), (80, 65535), (96, 65535)
    assert encode(SMALL8, store) == bits(((0, 1), (3, 1), (5, 1), (7, 4), *top))


def test_alu_spelt_out_in_small8() -> None:
    alu = replace(ALU, op=AluOp.SHR, imm=-3, iter_in=5, tokens=Tokens(push_next=True))
    fields = ((0, 4), (6, 1), (8, 0), (16, 1), (25, 1), (39, 5))
    assert encode(SMALL8, alu) == bits((*fields, (85, 3), (88, 1), (89, 0x10000 - 3)))


def test_finish_and_micro_op_spelt_out() -> None:
    assert encode(PYNQ, Finish(tokens=Tokens(pop_next=True))) == bits(((0, 3), (4, 1)))
    word = (5 | 6 << 11 | 7 << 22).to_bytes(4, "little")
    assert encode_uop(PYNQ, MicroOp(5, 6, 7)) == word
    assert decode_uop(PYNQ, word) == MicroOp(5, 6, 7)


@pytest.mark.parametrize("name", vector_names())
def test_vector_round_trip(name: str) -> None:
    vector = load_vector(name)
    codec = Codec(vector.config)
    for position in range(len(vector.program)):
        word = vector.program.word(position)
        assert codec.encode(codec.decode(word)) == word


# Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        (replace(LOAD, sram_base=65536), r"^LOAD sram_base is 65536: it must lie in 0\.\.65535$"),
        (replace(LOAD, dram_base=-1), r"^LOAD dram_base is -1: it must lie in 0\.\.4294967295$"),
        (replace(LOAD, y_pad_0=16), r"^LOAD y_pad_0 is 16: it must lie in 0\.\.15$"),
        (replace(GEMM, uop_end=16384), r"^GEMM uop_end is 16384: it must lie in 0\.\.16383$"),
        (replace(GEMM, wgt_factor_in=1024), r"^GEMM wgt_factor_in is 1024: it .* 0\.\.1023$"),
        (replace(ALU, imm=32768), r"^ALU imm is 32768: it must lie in -32768\.\.32767$"),
    ],
)
def test_refuses_what_does_not_fit(instruction: Any, message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        encode(PYNQ, instruction)


def test_refuses_the_wrong_type() -> None:
    half: Any = 0.5
    with pytest.raises(EncodingError, match=r"^LOAD x_size is 0\.5: it must be a whole number$"):
        encode(PYNQ, replace(LOAD, x_size=half))
    one: Any = 1
    with pytest.raises(EncodingError, match=r"^GEMM reset_reg is 1: it must be True or False$"):
        encode(PYNQ, replace(GEMM, reset=one))


def test_refuses_a_micro_op_that_does_not_fit() -> None:
    with pytest.raises(EncodingError, match=r"^micro-op wgt is 1024: it must lie in 0\.\.1023$"):
        encode_uop(PYNQ, MicroOp(0, 0, 1024))


def test_refuses_other_lengths() -> None:
    with pytest.raises(EncodingError, match=r"^an instruction is 16 bytes, not 15$"):
        decode(PYNQ, bytes(15))
    with pytest.raises(EncodingError, match=r"^a micro-op is 4 bytes, not 5$"):
        decode_uop(PYNQ, bytes(5))


@pytest.mark.parametrize(
    ("word", "fault", "message"),
    [
        (bits(((0, 5),)), Fault.OPCODE, "opcode 5 is none"),
        (bits(((0, 7),)), Fault.OPCODE, "opcode 7 is none"),
        (bits(((0, 0), (7, 6))), Fault.MEMORY_ID, "memory id 6 is none"),
        (bits(((0, 1), (7, 7))), Fault.MEMORY_ID, "memory id 7 is none"),
        (bits(((0, 4), (108, 5))), Fault.FEATURE, "alu_opcode 5 is an extension that pynq lacks"),
    ],
)
def test_refuses_what_no_value_can_represent(word: bytes, fault: Fault, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        Codec(PYNQ).decode(word, 12)
    assert (caught.value.fault, caught.value.instruction) == (fault, 12)


# Properties ---------------------------------------------------------------------------------


@given(data=st.data())
def test_encode_then_decode(data: st.DataObject) -> None:
    config = data.draw(configs())
    instruction = data.draw(instructions(config))
    assert decode(config, encode(config, instruction)) == instruction
    uop = data.draw(micro_ops(config))
    assert decode_uop(config, encode_uop(config, uop)) == uop


@given(data=st.data())
def test_bits_outside_every_field_are_refused(data: st.DataObject) -> None:
    config = data.draw(configs())
    instruction = data.draw(instructions(config))
    layout = instruction_layout(config, opcode_of(instruction))
    fields = [field.lsb + bit for field in layout for bit in range(field.width)]
    outside = sorted(set(range(128)) - set(fields))
    if not outside:
        return
    bits = data.draw(st.sets(st.sampled_from(outside), min_size=1))
    word = int.from_bytes(encode(config, instruction), "little") | sum(1 << bit for bit in bits)
    message = rf"{opcode_of(instruction).name} sets bit {min(bits)}, which no field has"
    with pytest.raises(ProgramError, match=message) as caught:
        decode(config, word.to_bytes(16, "little"))
    assert caught.value.fault is Fault.FEATURE


@pytest.mark.parametrize(
    ("instruction", "unit"),
    [
        *(
            (replace(LOAD, memory=memory), Unit.COMPUTE)
            for memory in MemoryId
            if memory not in (MemoryId.INP, MemoryId.WGT, MemoryId.PAR, MemoryId.WGT_CODES)
        ),
        (replace(LOAD, memory=MemoryId.INP, x_size=0), Unit.LOAD),
        (replace(LOAD, memory=MemoryId.WGT), Unit.LOAD),
        (replace(LOAD, memory=MemoryId.PAR), Unit.LOAD),
        (replace(LOAD, memory=MemoryId.WGT_CODES), Unit.LOAD),
        (Table(entries_low=0, entries_high=0), Unit.LOAD),
        (Requantise(active=True), Unit.COMPUTE),
        (GEMM, Unit.COMPUTE),
        (ALU, Unit.COMPUTE),
        (Finish(), Unit.COMPUTE),
    ],
)
def test_routing(instruction: Instruction, unit: Unit) -> None:
    assert unit_of(instruction) is unit

"""Bytes of elements, worked out for a machine of 4 x 4 products and a bus of 8 bytes."""

from __future__ import annotations

from dataclasses import replace

from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import Coding, Finish, Load, MemoryId, Program
from tandem.hw.isa.element_sizes import (
    dram_unit_table,
    dram_units,
    element_size_table,
    element_sizes,
)

TINY = load_config("tiny")
EXTENDED = TINY.replace(name="extended", features=frozenset(Feature))
LOAD = Load(memory=MemoryId.INP, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
UOP, WGT, INP, ACC, OUT, ACC_8BIT, PAR, CODES = MemoryId
_SIZES = [[4] * 4, [16] * 4, [4] * 4, [16] * 4, [4] * 4, [4] * 4]


def test_sizes_of_a_machine_without_extensions() -> None:
    assert element_size_table(TINY).tolist() == [*_SIZES, [0] * 4, [0] * 4]
    assert dram_unit_table(TINY).tolist() == [4, 16, 4, 16, 4, 4, 0, 0]


def test_sizes_of_codes_fill_whole_beats() -> None:
    """16 codes of 1, 2 and 4 bits, in beats of 8 bytes, and scales of 4 x 4 bits in a beat."""
    assert TINY.bus_bytes == 8
    assert element_size_table(EXTENDED).tolist() == [*_SIZES, [32] * 4, [8, 8, 8, 16]]
    assert dram_unit_table(EXTENDED).tolist() == [4, 16, 4, 16, 4, 4, 32, 8]


def test_sizes_by_instruction() -> None:
    scaled = replace(LOAD, memory=CODES, coding=Coding.BITS_4_SCALED)
    program = Program.from_instructions(
        EXTENDED, [LOAD, replace(LOAD, memory=WGT), scaled, Finish()]
    )
    assert element_sizes(EXTENDED, program.columns()).tolist() == [4, 16, 16, 4]
    assert dram_units(EXTENDED, program.columns()).tolist() == [4, 16, 8, 4]

"""Commands that load codes, and the tables that they are widened by."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks, with_codes
from tandem.compiler.machines.accelerator.lower.commands import Copy, SetTable
from tandem.hw.codings import Coding
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId
from tandem.hw.weight_formats import INT4, TERNARY

CONFIG = load_config("pynq-w")
CODED = CodedBlocks(Coding.BITS_4_SCALED, INT4.table, np.zeros((3, 136), np.uint8))
LOAD = Copy(memory=MemoryId.WGT, sram=0, dram=1, rows=1, columns=2, stride=0, tensor="w")


def test_a_load_of_weights_becomes_one_of_codes() -> None:
    found = with_codes(LOAD, {"w": CODED}, CONFIG)
    assert isinstance(found, Copy)
    assert (found.memory, found.coding) == (MemoryId.WGT_CODES, Coding.BITS_4_SCALED)
    assert str(found) == "wgt_codes[0 :+ 2] <- dram[17 :+ 2] as BITS_4_SCALED"
    assert with_codes(LOAD, {"v": CODED}, CONFIG) == LOAD
    table = SetTable(upper=False, entries=(1,) * 8)
    assert with_codes(table, {"w": CODED}, CONFIG) == table


def test_codes_are_loaded_into_wgt_only() -> None:
    other = Copy(memory=MemoryId.INP, sram=0, dram=0, rows=1, columns=1, stride=0, tensor="w")
    with pytest.raises(LoweringError, match="w lies in DRAM as codes, which are loaded into WGT"):
        with_codes(other, {"w": CODED}, CONFIG)


def test_halves_of_a_table() -> None:
    assert CODED.tables == (
        SetTable(upper=False, entries=tuple(range(8))),
        SetTable(upper=True, entries=tuple(range(-8, 0))),
    )
    few = CodedBlocks(Coding.BITS_2, TERNARY.table, np.zeros((1, 64), np.uint8))
    (table,) = few.tables
    assert table.entries == (0, 1, -2, -1, 0, 0, 0, 0)
    assert str(table) == "table 0..7 is 0 1 -2 -1 0 0 0 0"

"""Rows of main memory: where they lie, and the first that cannot be accessed."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import MemoryId
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.semantics.detail import END_BYTE, FIRST_BYTE, make_detail
from tandem.sim.semantics.dram import Dram, make_dram, row_address, rows_accessible
from tests.support.sim.rows import load_row

TINY = load_config("tiny-w")
REGISTERS = [256 * (number + 1) for number in range(BASE_REGISTERS)]


def dram_of(size: int, *refused: tuple[int, int], bits: int = 32) -> Dram:
    config = TINY.replace(name="narrow", address_bits=bits)
    return make_dram(np.zeros(size, np.uint8), REGISTERS, refused, config)


@pytest.mark.parametrize(
    ("memory", "address"),
    [
        (MemoryId.UOP, 256 + 4 * (3 + 2 * 5)),
        (MemoryId.WGT, 512 + 16 * 13),
        (MemoryId.INP, 768 + 4 * 13),
        (MemoryId.PAR, 7 * 256 + 32 * 13),
        # The base register of WGT, and beats of 8 bytes.
        (MemoryId.WGT_CODES, 512 + 8 * 13),
    ],
)
def test_the_address_of_a_row(memory: MemoryId, address: int) -> None:
    row = load_row(TINY, memory, dram_base=3, y_size=3, x_stride=5)
    dram = dram_of(0)
    assert row_address(dram, row, 2) == address
    assert row_address(dram, row, 0) == address - 10 * int(dram.units[memory])


def test_bits_above_an_address_are_dropped() -> None:
    row = load_row(TINY, MemoryId.INP, dram_base=(1 << 30) - 193 + 1, x_stride=1)
    # 768 + 4 * (2^30 - 192) = 2^32, of which 32 bits are 0.
    assert row_address(dram_of(0), row, 0) == 0
    assert row_address(dram_of(0, bits=40), row, 0) == 1 << 32
    assert row_address(dram_of(0), row, 3) == 12


def accessible(dram: Dram, **fields: int) -> tuple[int, int] | None:
    """The first row of INP that cannot be accessed; None if all can."""
    detail = make_detail()
    row = load_row(TINY, MemoryId.INP, **fields)
    if rows_accessible(dram, row, 4, detail):
        assert not detail.any()
        return None
    return int(detail[FIRST_BYTE]), int(detail[END_BYTE])


def test_the_end_of_memory_is_a_boundary() -> None:
    # Rows of 8 bytes at 768, 784 and 800.
    rows = {"y_size": 3, "x_size": 2, "x_stride": 4}
    assert accessible(dram_of(808), **rows) is None
    assert accessible(dram_of(807), **rows) == (800, 808)
    assert accessible(dram_of(792), **rows) == (800, 808)
    assert accessible(dram_of(791), **rows) == (784, 792)
    assert accessible(dram_of(0), **rows) == (768, 776)
    # Rows at one address, and one row with any stride.
    assert accessible(dram_of(776), **{**rows, "x_stride": 0}) is None
    assert accessible(dram_of(776), x_size=2, x_stride=1000) is None


def test_ranges_that_answer_with_an_error() -> None:
    rows = {"y_size": 3, "x_size": 2, "x_stride": 4}
    # Between the rows, at their ends, and one byte of each.
    for start, end in ((776, 784), (792, 800), (0, 768), (808, 900), (780, 780)):
        assert accessible(dram_of(1024, (start, end)), **rows) is None
    assert accessible(dram_of(1024, (760, 769)), **rows) == (768, 776)
    assert accessible(dram_of(1024, (775, 784)), **rows) == (768, 776)
    assert accessible(dram_of(1024, (786, 787)), **rows) == (784, 792)
    # Of two ranges each counts, and the first row, not the first range.
    assert accessible(dram_of(1024, (807, 808), (0, 1)), **rows) == (800, 808)
    assert accessible(dram_of(1024, (807, 808), (784, 785)), **rows) == (784, 792)


def test_rows_that_wrap_around_are_looked_at_one_by_one() -> None:
    """The first row lies in memory and the last one, by its address, too; the middle one does
    not."""
    far = {"dram_base": (1 << 30) - 192, "x_stride": 100, "y_size": 2}
    assert accessible(dram_of(1024), **far) is None
    assert accessible(dram_of(403), **far) == (400, 404)
    assert accessible(dram_of(404), **far) is None


def test_ranges_are_clipped() -> None:
    dram = dram_of(1024, (5, 1 << 70), (1 << 62, 1 << 63), ((1 << 62) - 1, (1 << 62) + 1))
    far = 1 << 62
    assert dram.refused.tolist() == [[5, far], [far, far], [far - 1, far]]
    assert dram_of(1024).refused.shape == (0, 2)
    assert dram.mask == (1 << 32) - 1

"""Rectangles of DRAM: first and last bytes, merged rows, and pieces of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.errors import EncodingError
from tandem.hw.hazards.dram import Rectangles, rectangles_of
from tandem.hw.isa import Finish, Instruction, Load, MemoryId, Program, Store

TINY = load_config("tiny")
"""An element of INP and OUT has 4 bytes, of WGT 16."""
LOAD = Load(memory=MemoryId.INP, sram_base=0, dram_base=3, y_size=3, x_size=2, x_stride=5)
STORE = Store(memory=MemoryId.OUT, sram_base=0, dram_base=1, y_size=2, x_size=2, x_stride=3)
BASES = (0, 4096, 8192, 12288, 16384, 20480, 0)


def rectangles(*program: Instruction) -> Rectangles:
    columns = Program.from_instructions(TINY, program).columns()
    return rectangles_of(TINY, columns, BASES)


def test_rectangles() -> None:
    found = rectangles(
        LOAD,
        replace(LOAD, memory=MemoryId.WGT),
        STORE,
        replace(LOAD, x_size=0),
        Finish(),
    )
    assert found.first.tolist() == [8192 + 12, 4096 + 48, 16384 + 4, 0, 0]
    assert found.stride.tolist() == [20, 80, 12, 0, 0]
    assert found.rows.tolist() == [3, 3, 2, 0, 0]
    assert found.length.tolist()[:3] == [8, 32, 8]
    assert found.stores.tolist() == [False, False, True, False, False]
    assert found.end.tolist() == [8204 + 48, 4144 + 192, 16388 + 20, 0, 0]
    assert found.row_starts(np.array([2, 0])).tolist() == [16388, 16400, 8204, 8224, 8244]
    assert found.row_starts(np.array([3])).tolist() == []


def test_the_end_of_no_access_is_its_begin() -> None:
    first, stride, rows, length = (np.array([number]) for number in (7, 3, 0, 5))
    found = Rectangles(first, stride, rows, length, np.array([False]))
    assert found.end.tolist() == [7]


@pytest.mark.parametrize(
    ("stride", "rows", "length"), [(0, 1, 8), (1, 1, 16), (2, 1, 24), (3, 3, 8)]
)
def test_rows_that_adjoin_or_overlap_are_one(stride: int, rows: int, length: int) -> None:
    found = rectangles(replace(LOAD, x_stride=stride))
    assert (found.rows.tolist(), found.length.tolist()) == ([rows], [length])
    assert found.stride.tolist() == [4 * stride * (rows > 1)]


@given(
    sizes=st.tuples(*(st.integers(low, 5) for low in (0, 1, 0, 0))), memory=st.sampled_from([1, 2])
)
def test_bytes_one_by_one(sizes: tuple[int, int, int, int], memory: int) -> None:
    width, height, stride, base = sizes
    load = replace(
        LOAD,
        memory=MemoryId(memory),
        x_size=width,
        y_size=height,
        x_stride=stride,
        dram_base=base,
    )
    size = {1: 16, 2: 4}[memory]
    expected = {
        BASES[memory] + size * (base + row * stride + column) + byte
        for row in range(height)
        for column in range(width)
        for byte in range(size)
    }
    found = rectangles(load)
    starts = found.row_starts(np.array([0])).tolist()
    assert {at + byte for at in starts for byte in range(int(found.length[0]))} == expected
    assert int(found.end[0]) == (max(expected) + 1 if expected else found.first[0])


def test_bases_that_are_none() -> None:
    with pytest.raises(EncodingError, match="the base register of WGT is 8: it must be a multiple"):
        rectangles_of(
            TINY, Program.from_instructions(TINY, [LOAD]).columns(), (0, 8, 0, 0, 0, 0, 0)
        )

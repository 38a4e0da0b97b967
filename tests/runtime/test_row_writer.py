"""Rows are written where their code says, and nowhere else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.runtime.artifact import RowsCode
from tandem.runtime.row_writer import RowWriter


@st.composite
def codes(draw: st.DrawFn) -> RowsCode:
    """Rows in blocks, of heads of which each is there several times, in any order of axes."""
    blocks, block, heads, copies, features = (draw(st.integers(1, 4)) for _ in range(5))
    axes = [
        *((blocks, block, 0), (block, 1, 0), (heads, 0, features)),
        *((copies, 0, 0), (features, 0, 1)),
    ]
    order = draw(st.permutations([axis for axis in axes if axis[0] > 1 or axis[1] == 1]))
    rows = blocks * block if blocks > 1 else block
    first = draw(st.integers(0, rows - 1))
    count = draw(st.integers(0, rows - first))
    extents, row_steps, element_steps = zip(*order, strict=True)
    return RowsCode("x", extents, row_steps, element_steps, first, count, heads * features)


@given(codes(), st.integers(0, 99))
def test_every_place(code: RowsCode, seed: int) -> None:
    random = np.random.default_rng(seed)
    tensor = random.integers(-128, 128, code.shape, dtype=np.int8)
    rows = random.integers(-128, 128, (code.count, code.elements), dtype=np.int8)
    wanted = tensor.copy()
    for place in np.ndindex(*code.shape):
        row = int(np.dot(place, code.row_steps)) - code.first
        if 0 <= row < code.count:
            wanted[place] = rows[row, int(np.dot(place, code.element_steps))]
    writer = RowWriter(code)
    writer.put(tensor, rows)
    np.testing.assert_array_equal(tensor, wanted)
    assert writer.row_bytes * code.rows == tensor.size


def test_another_row_than_the_code_s() -> None:
    code = RowsCode("x", (3, 2), (1, 0), (0, 1), 2, 1, 2)
    tensor = np.zeros((3, 2), np.int8)
    RowWriter(code).put(tensor, np.array([[1, 2]], np.int8), 0)
    assert tensor.tolist() == [[1, 2], [0, 0], [0, 0]]

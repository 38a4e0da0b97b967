"""Rows that replace others, and what is no row."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, INT64, DType
from tandem.compiler.operators.rows import put_row, put_rows
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import evaluate, given_as, same

Operand: TypeAlias = tuple[tuple[int, ...], DType]


@pytest.mark.parametrize("index", [0, 2, 3, -1])
def test_a_row_at_an_index(index: int) -> None:
    x, row = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([7, 8], np.float32)
    i = np.array(index, np.int64)
    result = put_row(given_as("x", x), given_as("row", row), given_as("i", i))
    wanted = x.copy()
    if 0 <= index < 3:
        wanted[index] = row
    same(evaluate(result, {"x": x, "row": row, "i": i}), wanted)


@pytest.mark.parametrize(
    ("data", "row", "index"),
    [
        (((3, 2), FLOAT32), ((3,), FLOAT32), ((), INT64)),
        (((3, 2), FLOAT32), ((2,), INT32), ((), INT64)),
        (((3, 2), FLOAT32), ((2,), FLOAT32), ((), INT32)),
        (((3, 2), FLOAT32), ((2,), FLOAT32), ((1,), INT64)),
        (((), FLOAT32), ((), FLOAT32), ((), INT64)),
    ],
)
def test_refusals(data: Operand, row: Operand, index: Operand) -> None:
    named = zip((data, row, index), "xri", strict=True)
    operands = [placeholder(*each, name) for each, name in named]
    with pytest.raises(TensorError, match="is no row of"):
        put_row(*operands)


def test_rows_in_a_tensor_of_another_order() -> None:
    """Three heads of two features, in blocks of four rows."""
    x = np.arange(2 * 3 * 4 * 2, dtype=np.int8).reshape(2, 3, 4, 2)
    rows = -np.arange(1, 13, dtype=np.int8).reshape(2, 6)
    result = put_rows(given_as("x", x), given_as("r", rows), (4, 0, 1, 0), (0, 2, 0, 1), 3)
    wanted = x.copy()
    wanted[0, :, 3] = rows[0].reshape(3, 2)
    wanted[1, :, 0] = rows[1].reshape(3, 2)
    same(evaluate(result, {"x": x, "r": rows}), wanted)


@pytest.mark.parametrize(
    ("data", "rows", "steps"),
    [
        (((4, 2), FLOAT32), ((1, 2), FLOAT32), (0, 1)),
        (((4, 2), INT8), ((2,), INT8), (0, 1)),
        (((4, 2), INT8), ((1, 2), INT8), (0, 1, 2)),
        (((4, 2), INT8), ((1, 2), INT8), (0, 2)),
    ],
)
def test_what_are_no_rows(data: Operand, rows: Operand, steps: tuple[int, ...]) -> None:
    operands = placeholder(*data, "x"), placeholder(*rows, "r")
    with pytest.raises(TensorError, match="are no rows of"):
        put_rows(*operands, row_steps=(1, 0), element_steps=steps, first=0)

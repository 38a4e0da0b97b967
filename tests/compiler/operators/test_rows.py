"""Rows that replace others, and what is no row."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT32, INT64, DType
from tandem.compiler.operators.rows import put_row
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

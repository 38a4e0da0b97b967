"""Look-up in tables of bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT16, DType
from tandem.compiler.operators.lookup import lookup
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.broadcasts import shapes
from tests.support.compiler.operators.operators import evaluate, given_as, numbers, same

BYTES = st.sampled_from(["int8", "uint8"])


@given(shape=shapes(most=3), dtype=BYTES, entries=BYTES)
@settings(max_examples=15)
def test_lookup(shape: tuple[int, ...], dtype: str, entries: str) -> None:
    x, table = numbers(0, shape, dtype), numbers(1, (256,), entries)
    result = evaluate(lookup(given_as("X", x), given_as("T", table)), {"X": x, "T": table})
    same(result, table[x.view(np.uint8)] if shape else table[x.astype(np.uint8)])


@pytest.mark.parametrize(
    ("dtype", "entries", "count", "message"),
    [
        (INT16, INT8, 256, "has to be int8 or uint8"),
        (INT8, INT16, 256, "has to be int8 or uint8"),
        (FLOAT32, INT8, 256, "is not of the kind int, uint"),
        (INT8, INT8, 255, "has to have 256 entries, one for each byte"),
    ],
)
def test_refusals(dtype: DType, entries: DType, count: int, message: str) -> None:
    with pytest.raises(TensorError, match=message):
        lookup(placeholder((3,), dtype, "X"), placeholder((count,), entries, "T"))

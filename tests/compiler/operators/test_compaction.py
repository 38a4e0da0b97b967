"""Positions of true elements are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, UINT8
from tandem.compiler.operators.compaction import true_positions
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import evaluate, given_as, same


@given(bits=st.lists(st.booleans(), max_size=40))
@settings(max_examples=30)
def test_positions(bits: list[bool]) -> None:
    mask = np.array(bits, np.bool_)
    result = evaluate(true_positions(given_as("M", mask)), {"M": mask})
    expected = np.zeros(len(bits), np.int64)
    found = np.flatnonzero(mask)
    expected[: len(found)] = found
    same(result, expected)


def test_refusals() -> None:
    with pytest.raises(TensorError, match=r"M uint8\[3\] is not of the kind bool"):
        true_positions(placeholder((3,), UINT8, "M"))
    with pytest.raises(TensorError, match=r"M bool\[3, 2\] has to have one axis"):
        true_positions(placeholder((3, 2), BOOL, "M"))

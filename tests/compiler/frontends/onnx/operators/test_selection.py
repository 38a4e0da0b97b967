"""Elements that are selected, of what is known and of what depends on inputs, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.frontends.onnx.operators.selection import CONVERTERS
from tests.support.compiler.frontends.computed import computed
from tests.support.compiler.frontends.converted import Converted
from tests.support.compiler.operators.operators import Array

DATA = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    ("axis", "condition"),
    [
        (None, [True] * 3 + [False] * 6 + [True] * 3),
        (None, [False, True]),
        (0, [True, False, True]),
        (0, [False, True]),
        (1, [False, True, True, False]),
        (-1, [True, False, False, True]),
        (1, [False] * 4),
        # What is beyond the axis does not count.
        (0, [False, True, False, True, True]),
    ],
)
def test_compression(axis: int | None, condition: list[bool]) -> None:
    given: dict[str, Any] = {} if axis is None else {"axis": axis}
    mask = np.array(condition)
    extent = DATA.size if axis is None else DATA.shape[axis]
    expected = np.compress(condition[:extent], DATA, axis)
    (found,) = computed(CONVERTERS, "Compress", 11, DATA, mask, **given)
    np.testing.assert_array_equal(found, expected)
    # Of a mask that is known the extent is too.
    made = Converted(CONVERTERS)
    (result,) = made.node("Compress", 11, made.value(3, 4), mask, **given)
    assert result.shape == expected.shape
    assert not result.counts


@pytest.mark.parametrize(
    "array",
    [
        np.array([[0, 2, 0], [3, 0, 1]], np.int32),
        np.array([0.0, -1.5, 0.0, 2.0], np.float32),
        np.array([[[True, False]], [[False, True]]]),
        np.zeros((2, 2), np.int8),
        np.array(3, np.int64),
    ],
)
def test_positions_that_are_not_zero(array: Array) -> None:
    expected = np.array(np.nonzero(np.atleast_1d(array)))
    (found,) = computed(CONVERTERS, "NonZero", 13, array)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.int64
    (result,) = Converted(CONVERTERS).node("NonZero", 13, array)
    assert result.known is not None
    np.testing.assert_array_equal(result.known, expected)


def test_nothing() -> None:
    (found,) = computed(CONVERTERS, "NonZero", 13, np.zeros((2, 0), np.int32))
    assert found.shape == (2, 0)

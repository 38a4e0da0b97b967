"""Distinct elements and slices, of what is known and of what depends on inputs, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import UnsupportedError
from tandem.compiler.frontends.onnx.operators import unique
from tandem.compiler.frontends.onnx.operators.unique import CONVERTERS
from tests.support.compiler.frontends.computed import computed
from tests.support.compiler.frontends.converted import Converted
from tests.support.compiler.operators.operators import Array

ROW = np.array([3, 1, 3, 2, 1, 3], np.int64)
GRID = np.array([[1, 0, 1], [2, 5, 2], [1, 0, 1], [0, 9, 0]], np.int32)


def wanted(array: Array, axis: int | None, ordered: bool) -> list[Array]:
    """The four results by NumPy, in the order of values or of first places."""
    found, first, inverse, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not ordered:
        order = np.argsort(first)
        found = np.take(found, order, axis or 0)
        inverse = np.argsort(order)[inverse]
        first, counts = first[order], counts[order]
    return [found, first, inverse, counts]


def known(array: Array, **given: Any) -> list[Array]:
    results = Converted(CONVERTERS).node("Unique", 11, array, outputs=4, used=4, **given)
    arrays = [each.known for each in results]
    return [each for each in arrays if each is not None]


@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize(
    ("array", "axis"),
    [
        (ROW, None),
        (ROW, 0),
        (np.array([[3, 1], [1, 2]], np.int8), None),
        (GRID, 0),
        (GRID, 1),
        (GRID, -1),
        (np.array([True, False, True]), None),
        (np.array([0.5, -1.0, 0.5, np.inf], np.float32), None),
        (np.array([4], np.int64), None),
    ],
)
def test_both_ways(array: Array, axis: int | None, ordered: int) -> None:
    given: dict[str, Any] = {"sorted": ordered} | ({} if axis is None else {"axis": axis})
    expected = wanted(array, axis, bool(ordered))
    for found in (
        known(array, **given),
        computed(CONVERTERS, "Unique", 11, array, outputs=4, **given),
    ):
        assert len(found) == 4
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        assert [each.dtype for each in found] == [array.dtype, *(np.dtype(np.int64),) * 3]


def test_nan_equals_nan() -> None:
    array = np.array([np.nan, 1.0, np.nan], np.float32)
    found = computed(CONVERTERS, "Unique", 11, array, outputs=4)
    np.testing.assert_array_equal(found[0], [1, np.nan])
    assert [each.tolist() for each in found[1:]] == [[1, 0], [1, 0, 1], [1, 2]]
    with pytest.raises(UnsupportedError, match="NaN among the elements"):
        known(array)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unique, "_COLUMNS", 4)
    made = Converted(CONVERTERS)
    with pytest.raises(UnsupportedError, match=r"float32\[0\] without elements"):
        made.node("Unique", 11, made.value(0))
    with pytest.raises(UnsupportedError, match="slices of 5 elements that depend on inputs: 4 at"):
        made.node("Unique", 11, made.value(2, 5), axis=0)
    made.node("Unique", 11, made.value(2, 4), axis=0)

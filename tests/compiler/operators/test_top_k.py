"""Positions of the greatest and least elements, against a stable sort."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, INDEX, dtype_of
from tandem.compiler.operators.top_k import top_k
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import Array, interpreted


def run(array: Array, k: int, axis: int = -1, largest: bool = True) -> Array:
    data = placeholder(array.shape, dtype_of(array.dtype.name), "x")
    return interpreted(top_k(data, k, axis, largest), {"x": array})


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_against_a_stable_sort(axis: int, largest: bool) -> None:
    array = np.random.default_rng(0).integers(0, 5, (4, 5)).astype(np.int8)
    order = np.argsort(-array if largest else array, axis, kind="stable")
    for k in range(1, 5):
        wanted = np.take(order, range(k), axis)
        np.testing.assert_array_equal(run(array, k, axis, largest), wanted)


def test_nan_is_greatest() -> None:
    array = np.array([1.0, np.nan, np.inf, np.nan, -np.inf], np.float32)
    assert run(array, 5).tolist() == [1, 3, 2, 0, 4]
    assert run(array, 5, largest=False).tolist() == [4, 0, 2, 1, 3]


def test_none() -> None:
    assert run(np.ones((2, 3), np.int8), 0).shape == (2, 0)
    assert run(np.ones((0, 3), np.int8), 2).shape == (0, 2)
    made = top_k(placeholder((3,), INDEX, "x"), 2)
    assert (made.name, made.dtype) == ("top_k", INDEX)


def test_refusals() -> None:
    data = placeholder((2, 3), INDEX, "x")
    top_k(data, 3)
    for k in (-1, 4):
        with pytest.raises(TensorError, match=f"^top_k y: axis 1 of x .* has no {k} elements"):
            top_k(data, k, name="y")
    with pytest.raises(TensorError, match=r"^top_k y: .*axis"):
        top_k(data, 1, 2, name="y")
    with pytest.raises(TensorError, match=r"^top_k y: .*bool"):
        top_k(placeholder((2,), BOOL, "x"), 1, name="y")

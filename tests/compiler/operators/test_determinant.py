"""Determinants against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT64, INT8
from tandem.compiler.operators.determinant import LARGEST, determinant
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import Array, interpreted


def run(array: Array) -> Array:
    return interpreted(determinant(placeholder(array.shape, FLOAT64, "x")), {"x": array})


@pytest.mark.parametrize(
    ("matrix", "wanted"),
    [
        ([[-3]], -3),
        ([[1, 2], [3, 4]], -2),
        ([[0, 2], [3, 0]], -6),
        # The last row is the pivot's: two rows change places.
        ([[1, 0, 2], [0, 1, 1], [-4, 2, 0]], 6),
        # Of two that are as large, the first: none change places.
        ([[2, 1], [-2, 5]], 12),
        ([[0, 1], [0, 5]], 0),
        ([[1, 2], [2, 4]], 0),
        ([[0, 0], [0, 0]], 0),
        ([[0, 0, 1], [1, 0, 0], [0, 1, 0]], 1),
    ],
)
def test_by_hand(matrix: list[list[float]], wanted: float) -> None:
    assert run(np.array(matrix, np.float64)) == pytest.approx(wanted, abs=1e-12)


def test_many() -> None:
    array = np.random.default_rng(0).standard_normal((2, 3, 4, 4))
    np.testing.assert_allclose(run(array), np.linalg.det(array), rtol=1e-12)
    assert run(np.zeros((0, 2, 2))).shape == (0,)


def test_pivots_are_large() -> None:
    """Without a choice of the largest, the 1 beside 1e20 would be lost."""
    assert run(np.array([[1e-20, 1.0], [1.0, 1.0]])) == pytest.approx(-1, rel=1e-15)


def test_stages() -> None:
    made = determinant(placeholder((2, 2), FLOAT64, "x"), name="d")
    assert (made.name, made.shape) == ("d", ())


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4,), "x .* holds no square matrices"),
        ((2, 3), "x .* holds no square matrices"),
        ((0, 0), f"1 to {LARGEST} rows are supported"),
        ((LARGEST + 1, LARGEST + 1), f"1 to {LARGEST} rows are supported"),
    ],
)
def test_refusals(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(TensorError, match=f"^determinant y: .*{message}"):
        determinant(placeholder(shape, FLOAT64, "x"), name="y")
    determinant(placeholder((LARGEST, LARGEST), FLOAT64, "x"))
    with pytest.raises(TensorError, match=r"^determinant y: .*int8"):
        determinant(placeholder((2, 2), INT8, "x"), name="y")

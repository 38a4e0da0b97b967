"""Calibrated rounding: sums by hand, and errors that later columns make good."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed.calibrated import Gram

DATA = np.array([[1, 2], [3, -1], [0, 2]], np.float32)


def test_products_of_columns() -> None:
    gram = Gram.of(DATA)
    np.testing.assert_allclose(gram.products, np.array([[10, -1], [-1, 9]]) / 3)
    assert gram.products.dtype == np.float64
    with pytest.raises(QuantisationError, match="calibrated rounding takes at least one row"):
        Gram.of(DATA[:0])


def test_damping_is_a_hundredth_of_the_mean() -> None:
    gram = Gram.of(DATA)
    np.testing.assert_allclose(gram.energies, np.array([10, 9]) / 3 + 0.01 * 19 / 6)
    nothing = Gram.of(np.zeros((2, 3), np.float32))
    assert nothing.energies.tolist() == [1, 1, 1]
    np.testing.assert_allclose(nothing.factor(np.arange(3)), np.eye(3))


def test_errors_of_results() -> None:
    off = np.array([[1.0, 0.0], [0.5, -2.0]])
    # The mean squares of what the data give with these.
    wanted = ((DATA @ off.T) ** 2).mean(0)
    np.testing.assert_allclose(Gram.of(DATA).error(off), wanted)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_factors(order: list[int]) -> None:
    gram = Gram.of(DATA)
    factor = gram.factor(np.array(order))
    assert factor[1, 0] == 0
    damped = gram.products + 0.01 * 19 / 6 * np.eye(2)
    inverse = np.linalg.inv(damped[np.ix_(order, order)])
    np.testing.assert_allclose(factor.T @ factor, inverse, rtol=1e-12)
    # What is asked for stays.
    np.testing.assert_allclose(gram.products, Gram.of(DATA).products)

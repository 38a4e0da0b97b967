"""Sums of terms fitted to values."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.least_squares import fitted


def test_coefficients_are_found_again() -> None:
    chance = np.random.default_rng(3)
    terms = np.column_stack([np.ones(40), chance.uniform(0, 100, (40, 3))])
    wanted = np.array([500.0, 3.0, 0.0, 7.0])
    found = fitted(terms, terms @ wanted)
    assert terms @ found == pytest.approx(terms @ wanted, rel=0.001)
    assert found == pytest.approx(wanted, rel=0.05, abs=0.1)


def test_no_coefficient_is_negative() -> None:
    terms = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    found = fitted(terms, np.array([3.0, 2.0, 1.0]))
    assert found[1] == 0
    assert found[0] > 0


def test_no_other_coefficients_are_better() -> None:
    """At the least sum each coefficient that is not 0 has a gradient of 0, and others rise."""
    chance = np.random.default_rng(7)
    for _ in range(50):
        terms = chance.uniform(0, 1, (30, 12)) ** 4
        terms[:, 5] = terms[:, 2] + 1e-3 * terms[:, 3]
        values = chance.uniform(0.1, 1, 30)
        found = fitted(terms, values)
        scaled = terms / values[:, None]
        sizes = (scaled**2).sum(axis=0)
        gradient = scaled.T @ (scaled @ found - 1) + 1e-4 * sizes * found
        assert (found >= 0).all()
        assert abs(gradient[found > 0]).max() < 1e-6
        assert gradient[found == 0].min(initial=0) > -1e-6

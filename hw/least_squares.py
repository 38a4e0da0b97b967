"""Sums of terms fitted to measured values, for models of area, resources and clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_RIDGE = 1e-4
"""Weight of the penalty on coefficients, relative to the sum of squares of each term."""
_TOLERANCE = 1e-9
"""Gradients and coefficients, of terms of length 1, below which a coefficient is 0."""


def fitted(terms: Floats, values: Floats) -> Floats:
    """The coefficients, none below 0, of the sum of terms that gives the values best.

    By least squares of relative errors.

    Parameters
    ----------
    terms
        For each value its terms, [values, terms]; none is negative.
    values
        Above 0.
    """
    scaled = terms / values[:, None]
    sizes = np.sqrt((scaled**2).sum(axis=0)) + 1e-12
    normed = scaled / sizes
    matrix = normed.T @ normed + _RIDGE * np.eye(len(sizes))
    return _least(matrix, normed.sum(axis=0)) / sizes


def _least(matrix: Floats, wanted: Floats) -> Floats:
    """The x >= 0 of least x @ matrix @ x / 2 - wanted @ x, for a positive definite matrix.

    By the active set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter
    23): coefficients become free one by one, and those that would fall below 0 are 0 again.
    """
    found = np.zeros(len(wanted))
    free = np.zeros(len(wanted), dtype=bool)
    while True:
        gradient = np.where(free, 0.0, wanted - matrix @ found)
        if gradient.max(initial=0.0) <= _TOLERANCE:
            return found
        free[gradient.argmax()] = True
        while True:
            best = np.zeros(len(wanted))
            best[free] = np.linalg.solve(matrix[np.ix_(free, free)], wanted[free])
            below = free & (best <= 0)
            if not below.any():
                found = best
                break
            # As far towards the best as all coefficients stay above 0.
            step = (found[below] / (found[below] - best[below])).min()
            found += step * (best - found)
            free[below] = found[below] > _TOLERANCE
            found[~free] = 0.0

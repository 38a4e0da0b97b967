"""Sums of terms fitted to measured values, for models of area and resources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_RIDGE = 1e-4
"""Weight of the penalty on coefficients, relative to the sum of squares of each term."""
_ROUNDS = 2_000


def fitted(terms: Floats, values: Floats) -> Floats:
    """The coefficients, none below 0, of the sum of terms that gives the values best.

    By least squares of relative errors, one coefficient after the other until all rest.

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
    wanted = normed.sum(axis=0)
    found = np.zeros(len(sizes))
    for _ in range(_ROUNDS):
        before = found.copy()
        for at in range(len(found)):
            step = (wanted[at] - matrix[at] @ found) / matrix[at, at]
            found[at] = max(0.0, found[at] + step)
        if np.abs(found - before).max() < 1e-9:
            break
    result: Floats = found / sizes
    return result

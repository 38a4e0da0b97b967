"""Calibrated rounding: errors of columns are made good by the columns that are still to come.

The idea is that of Optimal Brain Quantization (Frantar and Alistarh, NeurIPS'22) in the order of
GPTQ (Frantar et al., ICLR'23): what matters is the error of a layer's results on its data X, which
is quadratic in the error of its weights, with X^T X as its matrix. After a column has been rounded,
the best change of all later ones for its error is a row of the Cholesky factor of the inverse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed.nearest import NearestEntries
from tandem.compiler.quantise.compressed.scale_search import Scales, ScaleSearch
from tandem.compiler.quantise.options import Mode

_DAMPING = 0.01
"""What is added to the diagonal, relative to its mean: data that samples have not shown."""
_BLOCK = 128
"""Columns whose errors are pushed on to those far behind them in one product."""


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """The products of the columns of a layer's data, X^T X / rows; [columns, columns]."""

    products: NDArray[np.float64]

    @classmethod
    def of(cls, data: NDArray[np.float32]) -> Gram:
        """Of data [rows, columns], the columns in the order of `Grouping.rows`."""
        if not len(data):
            raise QuantisationError("calibrated rounding takes at least one row of data")
        return cls((data.T @ data).astype(np.float64) / len(data))

    @property
    def energies(self) -> NDArray[np.float64]:
        """The mean square of each column, with some damping; [columns]."""
        return self.products.diagonal() + self._damping

    def error(self, off: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean square error of each channel's results for errors of its weights; [C]."""
        found: NDArray[np.float64] = ((off @ self.products) * off).sum(1)
        return found

    def factor(self, order: NDArray[np.int64]) -> NDArray[np.float64]:
        """The upper Cholesky factor of the inverse of the damped matrix, its columns in `order`."""
        damped = self.products[np.ix_(order, order)]
        damped[np.diag_indices_from(damped)] += self._damping
        return np.ascontiguousarray(np.linalg.cholesky(np.linalg.inv(damped)).T)

    @property
    def _damping(self) -> float:
        # A layer whose data are all 0 gets the identity.
        return _DAMPING * float(self.products.diagonal().mean()) or 1.0


def calibrated_codes(
    rows: NDArray[np.float32], search: ScaleSearch, scales: Scales, gram: Gram
) -> tuple[NDArray[np.uint8], Scales]:
    """The codes of weights as rows, and their scales.

    Groups are taken in the order of their data's energy, and so are the columns within a group:
    what matters most is rounded while most columns are left that can make it good. A group's
    integer scale is chosen again just before it is rounded, for its weights as they are then. At
    last the scales of channels are fitted by least squares of the results.

    Parameters
    ----------
    scales
        The scales to begin with.
    """
    order = _order(search, gram)
    factor = gram.factor(order).astype(np.float32)
    groups, owner = scales.groups.copy(), search.grouping.group_of_column[order]
    left = rows[:, order].copy()
    codes = np.zeros(rows.shape, np.uint8)
    table, entries = NearestEntries.of(search.form), np.array(search.form.table, np.float32)
    channels = scales.channels
    for first in range(0, len(order), _BLOCK):
        last = min(first + _BLOCK, len(order))
        errors = np.zeros((len(rows), last - first), np.float32)
        for column in range(first, last):
            group = owner[column]
            if search.form.scaled and (column == 0 or owner[column - 1] != group):
                end = column + int(search.grouping.sizes[group])
                # Columns of later blocks have not yet got the errors of this one.
                current = left[:, column:end]
                if end > last:
                    current = current.copy()
                    current[:, last - column :] -= errors @ factor[first:last, last:end]
                per_column = search.weights[order[column:end]]
                groups[:, group] = search.group_scales(current, per_column, channels)
            steps = (groups[:, group] * channels).astype(np.float32)
            code = table.code(left[:, column] / steps)
            codes[:, order[column]] = code
            off = (left[:, column] - entries[code] * steps) / factor[column, column]
            errors[:, column - first] = off
            left[:, column:last] -= off[:, None] * factor[column, column:last]
        left[:, last:] -= errors @ factor[first:last, last:]
    found = Scales(channels, groups)
    if search.mode is Mode.MULTIPLIER:
        found = _fitted(rows, search, codes, found, gram)
    return codes, found


def _order(search: ScaleSearch, gram: Gram) -> NDArray[np.int64]:
    """The columns in the order in which they are rounded."""
    energies, owner = gram.products.diagonal(), search.grouping.group_of_column
    of_groups = np.add.reduceat(energies, search.grouping.starts) / search.grouping.sizes
    return np.lexsort((-energies, owner, -of_groups[owner]))


def _fitted(
    rows: NDArray[np.float32],
    search: ScaleSearch,
    codes: NDArray[np.uint8],
    scales: Scales,
    gram: Gram,
) -> Scales:
    """The scales of channels with the least error of the results, for these codes."""
    entries = np.array(search.form.table, np.float64)[codes]
    values = entries * search.grouping.spread(scales.groups)
    products = values @ gram.products
    squares = (products * values).sum(1)
    fitted = (products * rows).sum(1) / np.where(squares > 0, squares, 1)
    channels = np.where(fitted > search.least, fitted, scales.channels)
    channels = np.where(channels > 0, channels, scales.channels)
    return Scales(channels, scales.groups)

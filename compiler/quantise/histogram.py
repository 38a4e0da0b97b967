"""Histograms of tensor values, and the choice of scales from histograms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions

BINS = 4096
LEVELS = 127
"""The largest int8 of a symmetric range: steps from 0 to the end."""
_CANDIDATES = 120


class Histogram:
    """Counts of absolute values in `BINS` equal bins of 0..`end`, a power of two above all values.

    A value from `end` up doubles `end` and merges neighbouring bins, so that one pass over any
    number of samples is enough.

    Attributes
    ----------
    counts
        The number of values in each bin.
    costs
        The sum of what a squared error of 1 costs, of the values in each bin.
    largest
        The largest absolute value.
    """

    def __init__(self) -> None:
        self.counts = np.zeros(BINS, np.int64)
        self.costs = np.zeros(BINS)
        self.end = 0.0
        self.largest = 0.0

    def add(self, values: NDArray[Any], costs: NDArray[np.float64] | None = None) -> None:
        """Counts the values.

        Parameters
        ----------
        costs
            What a squared error of 1 costs, broadcast to the values; 1 of all values if None.

        Raises
        ------
        QuantisationError
            A value that is infinite or NaN.
        """
        sizes = np.abs(values.reshape(-1))
        largest = float(sizes.max(initial=0.0))
        if not math.isfinite(largest):
            raise QuantisationError("a value is infinite or NaN: no range holds it")
        own = None if costs is None else np.broadcast_to(costs, values.shape).reshape(-1)
        if largest == 0:
            self.counts[0] += sizes.size
            self.costs[0] += sizes.size if own is None else own.sum()
            return
        self.largest = max(self.largest, largest)
        if self.end == 0:
            self.end = math.ldexp(1.0, math.frexp(largest)[1])
        while self.end <= largest:
            for sums in (self.counts, self.costs):
                sums[: BINS // 2] = sums.reshape(-1, 2).sum(1)
                sums[BINS // 2 :] = 0
            self.end *= 2
        bins = (sizes.astype(np.float64) * (BINS / self.end)).astype(np.int64)
        counts = np.bincount(bins, minlength=BINS)
        self.counts += counts
        self.costs += counts if own is None else np.bincount(bins, own, BINS)


def power_of_two(value: float) -> float:
    """The least power of two that is at least `value`, which is positive."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(1.0, exponent - (mantissa == 0.5))


def scale_of(histogram: Histogram, options: QuantiseOptions) -> float:
    """The real value of one int8 step; 1 if all values were 0."""
    if histogram.largest == 0:
        return 1.0
    match options.method:
        case Method.MAX:
            found = histogram.largest / LEVELS
        case Method.PERCENTILE:
            wanted = options.percentile / 100 * histogram.counts.sum()
            last = int(np.searchsorted(np.cumsum(histogram.counts), wanted))
            end = (last + 1) * histogram.end / BINS
            found = min(end, histogram.largest) / LEVELS
        case Method.MSE:
            return _least_error(histogram, options.mode)
    return power_of_two(found) if options.mode is Mode.POW2 else found


def _least_error(histogram: Histogram, mode: Mode) -> float:
    """The scale with the least sum of square errors times costs, among candidates from the full
    range down."""
    full = histogram.largest / LEVELS
    if mode is Mode.POW2:
        candidates = [power_of_two(full) / (1 << down) for down in range(8)]
    else:
        candidates = list(full * np.geomspace(1, 1 / 16, _CANDIDATES))
    inside = histogram.counts > 0
    width = histogram.end / BINS
    # The middle of each bin.
    values, costs = (np.flatnonzero(inside) + 0.5) * width, histogram.costs[inside]

    def error(scale: float) -> float:
        inner = int(np.searchsorted(values, scale * LEVELS, "right"))
        off = np.empty_like(values)
        off[inner:] = (values[inner:] - LEVELS * scale) ** 2
        if scale < 4 * width:
            # A bin covers too many steps to tell how its values are rounded.
            off[:inner] = scale**2 / 12
        else:
            off[:inner] = (values[:inner] - np.rint(values[:inner] / scale) * scale) ** 2
        return float((off * costs).sum())

    return float(min(candidates, key=error))

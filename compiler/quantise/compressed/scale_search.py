"""The search for the scales of channels and groups with the least error of rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.exact import TOLERANCE, exact_scales
from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.compiler.quantise.compressed.nearest import NearestEntries
from tandem.compiler.quantise.options import Mode
from tandem.hw.weight_formats import WeightFormat

_Rows = NDArray[np.float32]
_GROUP_FACTORS = np.array([0.6, 0.7, 0.8, 0.88, 0.94, 1.0, 1.07, 8 / 7])
"""Scales of a group that are tried, relative to that of its largest weight."""
_CHANNEL_FACTORS = np.linspace(0.7, 1.3, 9)
"""Scales of a channel that are tried, relative to that of its group of the largest scale."""
_PLAIN_FACTORS = np.geomspace(0.05, 1.0, 20)
"""Scales of a channel without scales of groups that are tried, relative to that of its largest
weight."""
_REFINEMENTS = 2
_CHUNK = 1 << 16
"""Weights whose scales are searched for together: what a cache holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """The scales of weights as rows (`Grouping.rows`).

    Attributes
    ----------
    channels
        Real numbers, float64; [C].
    groups
        Integers, [C, groups of a row]; ones for a format without scales.
    """

    channels: NDArray[np.float64]
    groups: NDArray[np.uint8]

    def steps(self, grouping: Grouping) -> _Rows:
        """What a table's entry is multiplied with, for each column: [C, columns]."""
        whole = self.groups * self.channels[:, None]
        return grouping.spread(whole.astype(np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class ScaleSearch:
    """The search for scales of a format.

    Attributes
    ----------
    weights
        What the squared error of each column counts, such as the mean square of the data that it
        is multiplied with; [columns].
    least
        The least scale of each channel; [C]. A channel of a large bias needs a large scale.
    mode
        Powers of two only, in `Mode.POW2`.
    """

    form: WeightFormat
    grouping: Grouping
    weights: NDArray[np.float64]
    least: NDArray[np.float64]
    mode: Mode = Mode.MULTIPLIER

    def best(self, rows: _Rows) -> Scales:
        """The scales for which rounding to the nearest entries has the least error that was found.

        First each group's real scale, by trying; then each channel's scale, with the integers near
        the quotients; then the channel's scale by least squares, for what was rounded. Weights that
        the format has are kept as they are.
        """
        count = max(1, _CHUNK // rows.shape[1])
        parts = [
            replace(self, least=self.least[first : first + count])._best(
                rows[first : first + count]
            )
            for first in range(0, len(rows), count)
        ]
        return Scales(
            np.concatenate([part.channels for part in parts]),
            np.concatenate([part.groups for part in parts]),
        )

    def _best(self, rows: _Rows) -> Scales:
        channels, groups = self._tried(rows)
        if self.mode is Mode.MULTIPLIER:
            channels, groups = self._refined(rows, channels, groups)
        exact, own = exact_scales(rows, self.form, self.grouping, self._is_allowed)
        found = exact > 0
        return Scales(np.where(found, exact, channels), np.where(found[:, None], own, groups))

    def group_scales(
        self, columns: _Rows, weights: NDArray[np.float64], channels: NDArray[np.float64]
    ) -> NDArray[np.uint8]:
        """The best integer scale of one group, for given scales of channels.

        Parameters
        ----------
        columns
            The weights of the group; [C, columns of the group].
        weights
            What the error of each of these columns counts.
        """
        best = np.full(len(columns), np.inf)
        found = np.ones(len(columns), np.uint8)
        table, per_column = NearestEntries.of(self.form), weights.astype(np.float32)
        for scale in range(1, self.form.largest_scale + 1):
            steps = (channels * scale).astype(np.float32)[:, None]
            off = (table.value(columns / steps) * steps - columns) ** 2 @ per_column
            better = off < best
            best[better], found[better] = off[better], scale
        return found

    def _tried(self, rows: _Rows) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        ones = np.ones((len(rows), self.grouping.sizes.size), np.uint8)
        if not self.form.scaled:
            return self._least_channel(rows, _PLAIN_FACTORS, self._of_largest(rows), ones)
        wanted = self._real_scales(rows)
        largest = wanted.max(1) / self.form.largest_scale
        return self._least_channel(rows, _CHANNEL_FACTORS, largest, wanted)

    def _of_largest(self, rows: _Rows) -> NDArray[np.float64]:
        """The scale of each channel by which its largest weight is the largest entry."""
        entry = max(abs(value) for value in self.form.table)
        return np.abs(rows).max(1, initial=0).astype(np.float64) / entry

    def _real_scales(self, rows: _Rows) -> NDArray[np.float64]:
        """The best scale of each group if it could be any number."""
        entry = max(abs(value) for value in self.form.table)
        largest = np.maximum.reduceat(np.abs(rows), self.grouping.starts, axis=1)
        full = largest.astype(np.float64) / entry
        best, found = np.full(full.shape, np.inf), full.copy()
        for factor in _GROUP_FACTORS:
            off = self._group_errors(rows, full * factor)
            better = off < best
            best[better], found[better] = off[better], full[better] * factor
        return found

    def _least_channel(
        self,
        rows: _Rows,
        factors: NDArray[np.float64],
        base: NDArray[np.float64],
        wanted: NDArray[np.float64] | NDArray[np.uint8],
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The best of the channel scales `base * factors`, each with scales of groups that are near
        `wanted`."""
        candidates = [self._allowed(base * factor) for factor in factors]
        if self.mode is Mode.POW2:
            middle = self._allowed(base)
            candidates = [self._allowed(middle * 2.0**exponent) for exponent in range(-4, 2)]
        best = np.full(len(rows), np.inf)
        channels = candidates[0].copy()
        groups = np.ones(wanted.shape, np.uint8)
        for candidate in candidates:
            off, near = self._near(rows, candidate, wanted)
            better = off < best
            best[better], channels[better], groups[better] = (
                off[better],
                candidate[better],
                near[better],
            )
        return channels, groups

    def _near(
        self,
        rows: _Rows,
        channels: NDArray[np.float64],
        wanted: NDArray[np.float64] | NDArray[np.uint8],
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The error of each channel, and its scales of groups: of the two integers next to what is
        wanted, the better."""
        if not self.form.scaled:
            ones = np.ones(wanted.shape, np.uint8)
            return self._group_errors(rows, channels[:, None] * np.ones(wanted.shape)).sum(1), ones
        quotients = np.floor(wanted / channels[:, None])
        low = np.clip(quotients, 1, self.form.largest_scale)
        high = np.clip(quotients + 1, 1, self.form.largest_scale)
        below = self._group_errors(rows, low * channels[:, None])
        above = self._group_errors(rows, high * channels[:, None])
        chosen = np.where(above < below, high, low).astype(np.uint8)
        return np.minimum(above, below).sum(1), chosen

    def _group_errors(self, rows: _Rows, scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """The error of each group that is rounded with its scale."""
        steps = self.grouping.spread(np.where(scales > 0, scales, 1).astype(np.float32))
        off = NearestEntries.of(self.form).value(rows / steps)
        off *= steps
        off -= rows
        off *= off
        off *= self.weights.astype(np.float32)
        total: NDArray[np.float64] = np.add.reduceat(off, self.grouping.starts, axis=1)
        return total.astype(np.float64)

    def _refined(
        self, rows: _Rows, channels: NDArray[np.float64], groups: NDArray[np.uint8]
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The scales of channels by least squares, for the entries that they round to, and then
        those of groups again."""
        table = NearestEntries.of(self.form)
        best = self._group_errors(rows, groups * channels[:, None]).sum(1)
        for _ in range(_REFINEMENTS):
            spread = self.grouping.spread(groups).astype(np.float32)
            entries = table.value(rows / (spread * channels[:, None].astype(np.float32))) * spread
            weighted = entries * self.weights
            squares = (weighted * entries).sum(1)
            fitted = (weighted * rows).sum(1) / np.where(squares > 0, squares, 1)
            candidate = np.maximum(np.where(fitted > 0, fitted, channels), self.least)
            off, near = self._near(rows, candidate, groups * channels[:, None])
            better = off < best
            if not better.any():
                break
            channels = np.where(better, candidate, channels)
            groups = np.where(better[:, None], near, groups)
            best = np.where(better, off, best)
        return channels, groups

    def _allowed(self, scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scales that are positive, large enough and, where the mode says so, powers of two."""
        found = np.maximum(scales, self.least)
        # For a channel of zeros any scale is right.
        found = np.where(found > 0, found, 1.0)
        if self.mode is Mode.POW2:
            found = np.exp2(np.ceil(np.log2(found)))
        return found

    def _is_allowed(self, channels: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether scales of channels are large enough and, where the mode says so, powers of two,
        but for roundings."""
        enough: NDArray[np.bool_] = channels >= self.least * (1 - TOLERANCE)
        if self.mode is Mode.MULTIPLIER:
            return enough
        exponents = np.log2(np.where(channels > 0, channels, 1))
        return enough & (np.abs(exponents - np.rint(exponents)) <= TOLERANCE)

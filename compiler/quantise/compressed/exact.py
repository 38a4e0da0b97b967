"""Weights that a format represents as they are, such as those of a network trained with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.hw.weight_formats import WeightFormat

TOLERANCE: Final = 1e-6
"""How far a weight may be from a representable number, relative to its channel's largest weight: a
few roundings of float32."""
_SAMPLED: Final = 16
"""Columns that are looked at first; other weights are none of a channel's multiples there."""


def exact_scales(
    rows: NDArray[np.float32],
    form: WeightFormat,
    grouping: Grouping,
    allowed: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """The scales of channels and of groups with which the format has exactly the weights of a
    channel, or 0 for a channel that it has not, and for one of zeros.

    Parameters
    ----------
    rows
        Weights as `Grouping.rows` has them.
    allowed
        Returns which scales of all channels are allowed.

    Returns
    -------
    Real numbers [C], and integers [C, groups of a row].
    """
    scales = range(1, form.largest_scale + 1)
    integers = sorted({abs(entry) * scale for entry in form.table for scale in scales} - {0})
    largest = np.abs(rows).max(1, initial=0).astype(np.float64)
    channels = np.zeros(len(rows))
    groups = np.ones((len(rows), grouping.sizes.size), np.uint8)
    few = rows[:, np.argsort(-np.abs(rows).max(0, initial=0))[:_SAMPLED]]
    for integer in integers:
        # The largest weight may be this integer times the scale of the channel.
        steps = largest / integer
        open_ = np.flatnonzero((channels == 0) & (largest > 0) & allowed(steps))
        open_ = open_[_are_multiples(few[open_], steps[open_])]
        open_ = open_[_are_multiples(rows[open_], steps[open_])]
        if open_.size:
            values = np.rint(rows[open_] / steps[open_, None]).astype(np.int64)
            found, own = _groups(values, form, grouping)
            channels[open_] = np.where(found, _fitted(rows[open_], values), 0)
            groups[open_] = np.where(found[:, None], own, 1)
    return channels, groups


def _are_multiples(rows: NDArray[np.float32], steps: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether all weights of a row are multiples of its step."""
    quotients = rows / steps[:, None]
    whole = np.rint(quotients)
    bound = TOLERANCE * np.abs(whole).max(1, initial=0, keepdims=True)
    found: NDArray[np.bool_] = (np.abs(quotients - whole) <= bound).all(1)
    return found


def _groups(
    values: NDArray[np.int64], form: WeightFormat, grouping: Grouping
) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """Whether integers are entries of the table times a scale of their group, and the scales."""
    chosen = np.zeros((len(values), grouping.sizes.size), np.uint8)
    for scale in range(1, form.largest_scale + 1):
        fits = (values % scale == 0) & np.isin(values // scale, form.table)
        whole = np.logical_and.reduceat(fits, grouping.starts, axis=1)
        chosen[(chosen == 0) & whole] = scale
    found: NDArray[np.bool_] = np.logical_and.reduce(chosen > 0, axis=1)
    return found, chosen


def _fitted(rows: NDArray[np.float32], values: NDArray[np.int64]) -> NDArray[np.float64]:
    """The factor of each row's integers, by least squares."""
    found: NDArray[np.float64] = (rows.astype(np.float64) * values).sum(1) / (values**2).sum(1)
    return found

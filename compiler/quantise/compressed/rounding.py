"""Rounding of weights to codes: to the nearest, or by the error of a layer's results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.calibrated import Gram, calibrated_codes
from tandem.compiler.quantise.compressed.coded import CodedWeights
from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.compiler.quantise.compressed.nearest import NearestEntries
from tandem.compiler.quantise.compressed.scale_search import Scales, ScaleSearch
from tandem.compiler.quantise.options import Mode
from tandem.hw.weight_formats import WeightFormat


def coded_weights(
    weights: NDArray[Any],
    form: WeightFormat,
    group: int,
    *,
    gram: Gram | None = None,
    least: NDArray[np.float64] | None = None,
    mode: Mode = Mode.MULTIPLIER,
) -> CodedWeights:
    """Weights [C, I, ...] in a format: to the nearest codes, or calibrated.

    Parameters
    ----------
    group
        The input channels, along axis 1, that have one scale.
    gram
        The products of the data's columns, for calibrated rounding; without it, to the nearest.
    least
        The least scale of each channel, as a bias needs it.
    mode
        `Mode.POW2` for scales of channels that are powers of two.

    Raises
    ------
    QuantisationError
        Weights without output and input channels, or a group without weights.
    """
    grouping = Grouping(weights.shape, group)
    rows = grouping.rows(weights).astype(np.float32)
    per_column = np.ones(rows.shape[1]) if gram is None else gram.energies
    smallest = np.zeros(len(rows)) if least is None else least
    search = ScaleSearch(form, grouping, per_column, smallest, mode)
    scales = search.best(rows)
    if gram is None:
        codes = nearest_codes(rows, form, scales, grouping)
    else:
        codes, scales = calibrated_codes(rows, search, scales, gram)
    return CodedWeights(
        form, group, grouping.weights(codes), grouping.scales(scales.groups), scales.channels
    )


def nearest_codes(
    rows: NDArray[np.float32], form: WeightFormat, scales: Scales, grouping: Grouping
) -> NDArray[np.uint8]:
    """The codes of the entries nearest to weights as rows."""
    return NearestEntries.of(form).code(rows / scales.steps(grouping))

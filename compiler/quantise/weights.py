"""Quantised weights: int8 with one scale, or with a scale for each output channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.coded import CodedWeights
from tandem.compiler.quantise.histogram import LEVELS, power_of_two
from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions

LARGEST_BIAS = 1 << 24
"""The largest bias in units of the accumulator; beyond, products would have too few digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """A constant in integers; the real numbers are values * scales.

    Attributes
    ----------
    values
        int8; wider where a zero point was subtracted.
    scales
        float64; [C] or [1].
    axis
        The axis of `values` that `scales` belong to.
    coded
        Codes that widen to `values`; None for int8 weights that are stored as they are.
    """

    values: NDArray[Any]
    scales: NDArray[np.float64]
    axis: int = 0
    coded: CodedWeights | None = None

    @classmethod
    def of_codes(cls, coded: CodedWeights) -> Weights:
        """Compressed weights, output channels first."""
        return cls(coded.values, coded.channel_scales, coded=coded)

    @property
    def real(self) -> NDArray[np.float64]:
        """The real numbers."""
        shape = [1] * self.values.ndim
        if self.scales.size > 1:
            shape[self.axis] = -1
        return self.values * self.scales.reshape(shape)

    def moved_first(self, axis: int) -> Weights | None:
        """The weights with `axis` moved to the front; None if scales belong to another axis."""
        if self.scales.size > 1 and axis != self.axis:
            return None
        return Weights(np.ascontiguousarray(np.moveaxis(self.values, axis, 0)), self.scales)

    @property
    def sums(self) -> NDArray[np.int64]:
        """The sum of each channel's integers; [C]."""
        return self._rows.sum(1, dtype=np.int64)

    @property
    def reach(self) -> int:
        """The largest sum of a channel's absolute values."""
        wide = np.int16 if self.values.dtype == np.int8 else np.int64
        return int(np.abs(self._rows, dtype=wide).sum(1, dtype=np.int64).max(initial=0))

    @property
    def _rows(self) -> NDArray[Any]:
        return self.values.reshape(len(self.values), -1)


def quantised_weights(
    weight: NDArray[Any], bias: NDArray[np.float64], input_scale: float, options: QuantiseOptions
) -> Weights:
    """Weights as int8, output channels first.

    Parameters
    ----------
    bias
        The bias of each channel in real numbers. A channel whose weights are tiny beside its bias
        gets a larger scale, so that the bias is within 24 bits.
    input_scale
        The scale of the data that the weights are multiplied with.
    """
    rows = weight.reshape(len(weight), -1).astype(np.float64)
    largest = np.abs(rows).max(1, initial=0.0)
    least = least_scales(bias, input_scale)
    scales = np.maximum(largest / LEVELS, least)
    # For a channel of zeros any scale is right.
    scales[scales == 0] = scales.max(initial=0.0) or 1.0
    if not options.per_channel:
        scales = scales.max(keepdims=True)
    if options.mode is Mode.POW2:
        scales = np.array([power_of_two(each) for each in scales])
        if options.method is Method.MSE:
            scales = _finer(rows, scales, least)
    values = _rounded(rows, scales).astype(np.int8).reshape(weight.shape)
    return Weights(values, scales)


def least_scales(bias: NDArray[np.float64], input_scale: float) -> NDArray[np.float64]:
    """The least scale of each channel's weights with which its bias has 24 bits; parameters are
    those of `quantised_weights`."""
    return np.abs(bias) / (input_scale * LARGEST_BIAS)


def _rounded(rows: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
    found = rows / scales[:, None]
    # In place: weights may be millions.
    np.rint(found, out=found)
    return np.clip(found, -LEVELS, LEVELS, out=found)


def _finer(
    rows: NDArray[np.float64], scales: NDArray[np.float64], least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The scales, halved where the squared error gets smaller although some weights are clipped."""

    def errors(candidates: NDArray[np.float64]) -> NDArray[np.float64]:
        off = (_rounded(rows, candidates) * candidates[:, None] - rows) ** 2
        total: NDArray[np.float64] = off.sum(1)
        return total if len(candidates) == len(rows) else total.sum(keepdims=True)

    better = (errors(scales / 2) < errors(scales)) & (scales / 2 >= least.max(initial=0.0))
    return np.where(better, scales / 2, scales)

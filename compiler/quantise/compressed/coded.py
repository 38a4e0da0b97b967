"""Weights as codes: what is stored, the int8 values, and the real numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.hw.weight_formats import SCALE_BITS, WeightFormat, spread_scales


@dataclass(frozen=True, slots=True, eq=False)
class CodedWeights:
    """Compressed weights [C, I, ...]: codes, scales of groups and of output channels.

    Attributes
    ----------
    form
        What a code means.
    group
        The input channels that have one scale, along axis 1.
    codes
        [C, I, ...].
    scales
        Integers of four bits, [C, ceil(I / group), ...]; ones if the format has no scales.
    channel_scales
        Real numbers; [C] or [1].
    """

    form: WeightFormat
    group: int
    codes: NDArray[np.uint8]
    scales: NDArray[np.uint8]
    channel_scales: NDArray[np.float64]

    @property
    def grouping(self) -> Grouping:
        """The groups."""
        return Grouping(self.codes.shape, self.group)

    @property
    def values(self) -> NDArray[np.int8]:
        """The int8 values, of the shape of the codes."""
        spread = spread_scales(self.scales, self.group, 1, self.codes.shape[1])
        return self.form.widened(self.codes, spread)

    @property
    def real(self) -> NDArray[np.float64]:
        """The real numbers."""
        shape = (-1, *(1,) * (self.codes.ndim - 1))
        return self.values * self.channel_scales.reshape(shape)

    @property
    def bits(self) -> int:
        """The bits of codes and scales of groups, packed."""
        return self.codes.size * self.form.bits + SCALE_BITS * self.scales.size * self.form.scaled

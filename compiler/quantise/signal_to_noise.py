"""Signal-to-quantisation-noise ratios (SQNR)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class SignalToNoise:
    """The energies of a reference and of the errors against it, summed over arrays.

    Attributes
    ----------
    signal, noise
        Sums of squares of the reference, and of the errors; NaN after an array of another shape.
    """

    signal: float = 0.0
    noise: float = 0.0

    def add(self, found: NDArray[Any], wanted: NDArray[Any]) -> None:
        """Add an array and its reference."""
        if found.shape != wanted.shape:
            self.signal = self.noise = math.nan
            return
        real = wanted.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            self.signal += float(np.sum(real**2))
            self.noise += float(np.sum((found.astype(np.float64) - real) ** 2))

    @property
    def decibels(self) -> float:
        """The ratio in decibels: infinite without an error, NaN if the reference is not finite."""
        if math.isnan(self.signal) or math.isinf(self.signal):
            return math.nan
        if self.noise == 0:
            return math.inf
        # An error that is infinite leaves nothing of the signal.
        ratio = self.signal / self.noise
        return 10 * math.log10(ratio) if ratio else -math.inf

"""The signal-to-quantisation-noise ratio of a quantised network's outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Arrays: TypeAlias = Mapping[str, NDArray[Any]]


def sqnr(pairs: Iterable[tuple[_Arrays, _Arrays]]) -> dict[str, float]:
    """The signal-to-quantisation-noise ratio of each float output, in decibels.

    The ratio is the sum of squares of the reference over the sum of squares of the error: infinite
    if the error is zero, NaN if the reference is not finite or of another shape.

    Parameters
    ----------
    pairs
        Outputs of a run and of the reference, by name.
    """
    signals: dict[str, float] = {}
    noises: dict[str, float] = {}
    for found, wanted in pairs:
        for name, right in wanted.items():
            if right.dtype.kind != "f":
                continue
            if found[name].shape != right.shape:
                signals[name] = noises[name] = math.nan
                continue
            real = right.astype(np.float64)
            with np.errstate(invalid="ignore", over="ignore"):
                signal = float(np.sum(real**2))
                noise = float(np.sum((found[name].astype(np.float64) - real) ** 2))
            signals[name] = signals.get(name, 0.0) + signal
            noises[name] = noises.get(name, 0.0) + noise
    return {name: _decibels(signals[name], noises[name]) for name in signals}


def show_sqnr(ratios: Mapping[str, float]) -> str:
    """The ratios as text: `34.1 dB`, with names if there are several outputs."""
    shown = {name: _shown(ratio) for name, ratio in ratios.items()}
    if len(shown) == 1:
        return next(iter(shown.values()))
    return ", ".join(f"{name} {ratio}" for name, ratio in shown.items())


def sqnr_json(ratios: Mapping[str, float]) -> dict[str, float | None]:
    """The ratios in dB as JSON has numbers; None for one that is infinite or not known."""
    return {name: ratio if math.isfinite(ratio) else None for name, ratio in ratios.items()}


def _decibels(signal: float, noise: float) -> float:
    if math.isnan(signal) or math.isinf(signal):
        return math.nan
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def _shown(ratio: float) -> str:
    if ratio == math.inf:
        return "no error"
    return f"{ratio:.1f} dB" if math.isfinite(ratio) else "unknown"

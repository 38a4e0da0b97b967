"""The signal-to-quantisation-noise ratio of a quantised network's outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

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
    # Imported here: what runs artifacts shows ratios, and has no compiler.
    from tandem.compiler.quantise.signal_to_noise import SignalToNoise

    sums: dict[str, SignalToNoise] = {}
    for found, wanted in pairs:
        for name, right in wanted.items():
            if right.dtype.kind == "f":
                sums.setdefault(name, SignalToNoise()).add(found[name], right)
    return {name: each.decibels for name, each in sums.items()}


def show_sqnr(ratios: Mapping[str, float]) -> str:
    """The ratios as text: `34.1 dB`, with names if there are several outputs."""
    shown = {name: ratio_text(ratio, " dB") for name, ratio in ratios.items()}
    if len(shown) == 1:
        return next(iter(shown.values()))
    return ", ".join(f"{name} {ratio}" for name, ratio in shown.items())


def sqnr_json(ratios: Mapping[str, float]) -> dict[str, float | None]:
    """The ratios in dB as JSON has numbers; None for one that is infinite or not known."""
    return {name: finite(ratio) for name, ratio in ratios.items()}


def finite(ratio: float) -> float | None:
    """The ratio in dB; None if it is infinite or not known."""
    return ratio if math.isfinite(ratio) else None


def ratio_text(ratio: float, unit: str = "") -> str:
    """A ratio in dB as text, with a unit if one is given."""
    if ratio == math.inf:
        return "no error"
    return f"{ratio:.1f}{unit}" if math.isfinite(ratio) else "unknown"

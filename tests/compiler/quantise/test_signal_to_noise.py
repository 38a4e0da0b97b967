"""Ratios of signal and noise, against their definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tandem.compiler.quantise.signal_to_noise import SignalToNoise


def ratio(*pairs: tuple[list[float], list[float]]) -> float:
    found = SignalToNoise()
    for given, wanted in pairs:
        found.add(np.array(given), np.array(wanted))
    return found.decibels


def test_sums_over_arrays() -> None:
    # Signals of 100 and 900, errors of 1 and 9: 20 dB.
    assert ratio(([11.0], [10.0]), ([27.0, 0.0], [30.0, 0.0])) == pytest.approx(20.0)
    assert ratio(([9.0], [10.0])) == pytest.approx(20.0)


def test_integers_do_not_wrap() -> None:
    found = SignalToNoise()
    found.add(np.array([-128], np.int8), np.array([127], np.int8))
    assert (found.signal, found.noise) == (127.0**2, 255.0**2)


def test_limits() -> None:
    assert ratio() == math.inf
    assert ratio(([1.0], [1.0])) == math.inf
    assert ratio(([1.0], [0.0])) == -math.inf
    assert math.isnan(ratio(([1.0], [math.nan])))
    assert math.isnan(ratio(([1.0], [math.inf])))
    assert math.isnan(ratio(([1.0], [1.0, 2.0]), ([1.0], [1.0])))
    assert ratio(([math.inf], [1.0])) == -math.inf

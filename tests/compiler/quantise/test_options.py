"""Percentiles that calibration can take."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions


def test_percentiles() -> None:
    for percentile in (1e-9, 50.0, 100.0):
        assert QuantiseOptions(percentile=percentile).percentile == percentile
    for percentile in (0.0, -1.0, 100.0001, float("nan")):
        message = rf"^percentile is {percentile}: it has to lie in 0\.\.100$"
        with pytest.raises(QuantisationError, match=message):
            QuantiseOptions(percentile=percentile)


def test_defaults() -> None:
    found = QuantiseOptions()
    assert (found.mode, found.method, found.percentile) == (Mode.MULTIPLIER, Method.MSE, 99.99)
    assert found.per_channel
    assert found.keep_float == ()

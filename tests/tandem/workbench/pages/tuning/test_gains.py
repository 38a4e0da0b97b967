"""Bars of what features say."""

from __future__ import annotations

import pytest

from tandem.workbench.pages.tuning.gains import gain_bars
from tandem.workbench.pages.tuning.page import FeatureGain
from tests.support.workbench.pages.specs import layer_of, rows_of


def test_bars() -> None:
    spec = gain_bars([FeatureGain("tiles", 0.625), FeatureGain("threads", 0.375)])
    bars = layer_of(spec, "bar")
    assert rows_of(spec, bars) == [
        {"feature": "tiles", "gain": 0.625, "text": "62.5%"},
        {"feature": "threads", "gain": 0.375, "text": "37.5%"},
    ]
    assert bars["encoding"]["x"]["scale"]["domain"] == [0, pytest.approx(0.6875)]
    assert bars["encoding"]["x"]["scale"]["nice"] is False
    assert bars["encoding"]["y"]["sort"] == ["tiles", "threads"]
    assert layer_of(spec, "text")["encoding"]["text"]["field"] == "text"
    assert spec["height"] == 44
    spec = gain_bars([FeatureGain("tiles", 0.0)])
    assert layer_of(spec, "bar")["encoding"]["x"]["scale"]["domain"] == [0, 1]

"""Bars of the gaps to the lower bounds."""

from __future__ import annotations

import pytest

from tandem.workbench.pages.tuning.gaps import gap_bars
from tests.support.workbench.pages.specs import layer_of, rows_of
from tests.support.workbench.pages.tuning_pages import task_report, unmeasured


def test_bars_and_ticks() -> None:
    """A best of 1000 and a default of 1234 above 800; a certified one at its bound."""
    spec = gap_bars(
        [
            task_report("open"),
            unmeasured("none"),
            task_report("done", best=800.0, default=800.0, certified=True),
        ]
    )
    bars = layer_of(spec, "bar")
    first, second = rows_of(spec, bars)
    assert first["default"] == pytest.approx(0.5425)
    assert (first["layer"], first["gap"], first["end"]) == ("open", 0.25, first["default"])
    assert (first["state"], first["text"]) == ("not certified", "25.00%")
    assert second == {
        "layer": "done",
        "gap": 0.0,
        "default": 0.0,
        "state": "certified",
        "end": 0.0,
        "text": "0.00%",
    }
    assert bars["encoding"]["x"]["scale"]["domain"] == [0, pytest.approx(1.1 * 0.5425)]
    assert bars["encoding"]["x"]["scale"]["nice"] is False
    assert bars["encoding"]["y"]["sort"] == ["open", "done"]
    scale = bars["encoding"]["color"]["scale"]
    assert scale == {"domain": ["certified", "not certified"], "range": ["#009E73", "#B4BEC9"]}
    assert layer_of(spec, "tick")["encoding"]["x"]["field"] == "default"
    assert layer_of(spec, "text")["encoding"]["x"]["field"] == "end"
    assert spec["height"] == 44


def test_without_gaps_the_axis_has_a_length() -> None:
    spec = gap_bars([task_report("done", best=800.0, default=800.0)])
    assert layer_of(spec, "bar")["encoding"]["x"]["scale"]["domain"] == [0, 1]

"""Bars of what layers lose: numbers that are none are left out."""

from __future__ import annotations

from math import inf, nan

from tandem.compiler.quantise.layer_errors import LayerError
from tandem.workbench.pages.run.error_bars import error_bars
from tests.support.workbench.pages.specs import fields, layer_of, rows_of


def error(name: str, sqnr: float, own: float) -> LayerError:
    return LayerError(name, name, name, ("dense", "relu"), sqnr, own, 0.5, 0.25)


def test_layers_with_a_number() -> None:
    spec = error_bars(
        [error("a", 30.0, 31.0), error("b", inf, 12.0), error("c", 9.0, nan), error("d", nan, inf)]
    )
    assert spec is not None
    bars = layer_of(spec, "bar")
    common = {"operators": "dense + relu", "clipped": 0.25}
    assert rows_of(spec, bars) == [
        {"layer": "a", "own": 31.0, "sqnr": 30.0, **common},
        {"layer": "b", "own": 12.0, "sqnr": None, **common},
        {"layer": "c", "own": None, "sqnr": 9.0, **common},
    ]
    assert fields(bars) == ["layer", "operators", "own", "sqnr", "clipped"]
    assert bars["encoding"]["y"]["sort"] == ["a", "b", "c"]
    assert bars["encoding"]["x"]["field"] == "own"
    assert layer_of(spec, "tick")["encoding"]["x"]["field"] == "sqnr"
    assert spec["height"] == 48


def test_without_a_number_there_is_no_chart() -> None:
    assert error_bars([]) is None
    assert error_bars([error("a", inf, nan)]) is None

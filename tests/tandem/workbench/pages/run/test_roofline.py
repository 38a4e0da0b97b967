"""The roofline: its points, its roof and its axes, worked out for a few layers."""

from __future__ import annotations

import pytest

from tandem.workbench.pages.charts import ChartSpec
from tandem.workbench.pages.run.layer_rows import rows
from tandem.workbench.pages.run.roofline import LayerRun, layer_runs, roofline
from tandem.workbench.pages.run.style import Hiding
from tests.support.workbench.pages.profiles import page
from tests.support.workbench.pages.specs import fields, layer_of, rows_of

WITH, WITHOUT = Hiding.WITH, Hiding.WITHOUT
RUNS = [
    LayerRun("a", WITHOUT, 8_000, 100, 1_000, 400),
    LayerRun("a", WITH, 8_000, 1_000, 100, 200),
    LayerRun("b", WITH, 100, 50, 0, 100),
]
"""Of 64 multipliers and 16 bytes a cycle: the ridge is at 4 products a byte."""


@pytest.fixture(scope="module")
def spec() -> ChartSpec:
    """The chart of these runs."""
    found = roofline(RUNS, 64, 16)
    assert found is not None
    return found


def test_runs_of_layers() -> None:
    found = layer_runs(rows(page())[:1])
    assert [(run.layer, run.hiding, run.cycles) for run in found] == [
        ("stem", WITHOUT, 80_321),
        ("stem", WITH, 50_851),
    ]
    assert (found[1].macs, found[1].loaded, found[1].stored) == (8_765_432, 54_321, 1024)


def test_points_are_by_the_busier_direction(spec: ChartSpec) -> None:
    points = rows_of(spec, layer_of(spec, "point"))
    assert points == [
        {
            "layer": "a",
            "hiding": "without",
            "intensity": 8.0,
            "rate": 20.0,
            "cycles": 400,
            "utilisation": 0.3125,
        },
        {
            "layer": "a",
            "hiding": "with",
            "intensity": 8.0,
            "rate": 40.0,
            "cycles": 200,
            "utilisation": 0.625,
        },
        {
            "layer": "b",
            "hiding": "with",
            "intensity": 2.0,
            "rate": 1.0,
            "cycles": 100,
            "utilisation": 1 / 64,
        },
    ]
    encoding = layer_of(spec, "point")["encoding"]
    assert encoding["color"]["scale"]["domain"] == ["without", "with"]
    assert encoding["shape"]["scale"]["range"] == ["circle", "diamond"]
    assert fields(layer_of(spec, "point"))[:2] == ["layer", "hiding"]
    # Points of a layer are joined.
    assert layer_of(spec, "line", 1)["encoding"]["detail"]["field"] == "layer"


def test_roof_and_axes(spec: ChartSpec) -> None:
    line = layer_of(spec, "line")
    assert [(at["intensity"], at["rate"]) for at in rows_of(spec, line)] == [
        (1.0, 16.0),
        (4.0, 64),
        (16.0, 64),
    ]
    assert line["encoding"]["x"]["scale"]["domain"] == [1.0, 16.0]
    assert line["encoding"]["y"]["scale"]["domain"] == [0.5, 128.0]
    assert [rows_of(spec, layer_of(spec, "text", at)) for at in (0, 1)] == [
        [{"intensity": 16.0, "rate": 64, "text": "64 multipliers"}],
        [{"intensity": 4.0, "rate": 64, "text": "16 bytes a cycle"}],
    ]
    assert (spec["height"], len(spec["layer"])) == (420, 5)


def test_the_ridge_is_within_the_axis() -> None:
    spec = roofline(RUNS[:1], 64, 0.5)
    assert spec is not None
    assert layer_of(spec, "line")["encoding"]["x"]["scale"]["domain"] == [4.0, 256.0]


def test_names_stand_beside_points_with_latency_hiding() -> None:
    spec = roofline(RUNS, 64, 16, names=True)
    assert spec is not None
    assert layer_of(spec, "line")["encoding"]["x"]["scale"]["domain"] == [1.6, 10.0]
    assert [each["layer"] for each in rows_of(spec, layer_of(spec, "text", 2))] == ["a", "b"]


def test_layers_without_a_point() -> None:
    without = [
        LayerRun("no products", WITH, 0, 10, 10, 10),
        LayerRun("no bytes", WITH, 10, 0, 0, 10),
        LayerRun("no time", WITH, 10, 10, 10, None),
        LayerRun("no cycles", WITH, 10, 10, 10, 0),
    ]
    for run in without:
        assert roofline([run], 64, 16) is None
    spec = roofline([*without, *RUNS[2:]], 64, 16)
    assert spec is not None
    assert [each["layer"] for each in rows_of(spec, layer_of(spec, "point"))] == ["b"]
    # One kind of run has no legend.
    encoding = layer_of(spec, "point")["encoding"]
    assert encoding["color"]["legend"] is encoding["shape"]["legend"] is None
    assert "hiding" not in fields(layer_of(spec, "point"))
    assert roofline([], 64, 16) is None

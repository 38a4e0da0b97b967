"""The charts of a search: which there are, and what each point of the front's chart says."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.compiler.search.objectives import Objective
from tandem.workbench.pages.charts import ChartSpec
from tandem.workbench.pages.search.figures import figures, progress_chart
from tandem.workbench.pages.search.page import Marked
from tests.support.compiler.search.search_points import point, points, search_page
from tests.support.workbench.pages.specs import fields, layer_of, rows_of


def front(**changes: Any) -> ChartSpec:
    found = figures(search_page(**changes))[0]
    assert (found.key, found.leads) == ("front", True)
    return found.spec


@pytest.fixture(scope="module")
def drawn() -> ChartSpec:
    """The front of the page's machines."""
    return front()


def test_which_charts_there_are() -> None:
    found = figures(search_page())
    assert [(each.key, each.title, each.leads) for each in found] == [
        ("front", "area against cycles", True),
        ("progress", "Progress", False),
    ]
    one = search_page(points=(point(5_000, 900.0),))
    assert [each.key for each in figures(one)] == ["front"]
    assert figures(search_page(points=(point(0, 1.0),))) == ()
    alone = search_page(objectives=(Objective.CYCLES,), points=(point(5_000, 900.0),))
    assert figures(alone) == ()


def test_points_of_the_front_and_the_rest(drawn: ChartSpec) -> None:
    """The machine that cannot run is in neither; the front is by its first objective."""
    spec = drawn
    rest = rows_of(spec, layer_of(spec, "point", 0))
    assert [each["cycles"] for each in rest] == [9_500, 6_000]
    line = rows_of(spec, layer_of(spec, "line"))
    assert [(each["cycles"], each["area"]) for each in line] == [(5_000, 900.0), (9_000, 500.0)]
    assert rows_of(spec, layer_of(spec, "point", 1)) == line
    assert line[0]["machine"] == search_page().describe(points()[1])
    assert line[0]["utilisation"] == "22.0%"
    assert line[0]["layers bounded by"] == "array 1, bus 1"
    assert line[0]["clock"] == "100 MHz (given)"
    assert line[0]["resources"] == "1,000 lut, 29 dsp"
    assert fields(layer_of(spec, "point", 1))[-2:] == ["cycles", "area"]
    assert spec["height"] == 420


def test_marked_machines_have_their_names(drawn: ChartSpec) -> None:
    spec = drawn
    (row,) = rows_of(spec, layer_of(spec, "point", 2))
    assert (row["name"], row["cycles"], row["area"]) == ("pynq", 7_000, 1_000.0)
    assert row["machine"].startswith("pynq: 1x16x16")
    assert layer_of(spec, "point", 2)["mark"]["shape"] == "diamond"
    assert layer_of(spec, "text")["encoding"]["text"]["field"] == "name"
    unable = front(marked=(Marked("pynq", point(0, 10.0, "pynq")),))
    assert [each["mark"]["type"] for each in unable["layer"]] == ["point", "line", "point"]


def test_axes_have_units(drawn: ChartSpec) -> None:
    spec = front(objectives=(Objective.MILLISECONDS, Objective.ENERGY, Objective.AREA))
    encoding = layer_of(spec, "point", 0)["encoding"]
    assert encoding["x"]["title"] == f"{Objective.MILLISECONDS.value}, ms"
    assert encoding["x"]["scale"]["type"] == encoding["y"]["scale"]["type"] == "log"
    assert [each["format"] for each in encoding["tooltip"][-3:]] == [",.3f", ",.3f", ",.0f"]
    tooltip = layer_of(drawn, "point", 0)["encoding"]["tooltip"]
    assert [each["format"] for each in tooltip[-2:]] == [",.0f", ",.0f"]


def test_progress() -> None:
    made = search_page()
    spec = progress_chart(made)
    (rows,) = spec["datasets"].values()
    assert [(each["machines"], each["volume"]) for each in rows] == made.progress()
    assert spec["height"] == 220

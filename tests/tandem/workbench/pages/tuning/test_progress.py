"""The best cost over trials: lines, single trials, the bound and the axes."""

from __future__ import annotations

from math import inf

from tandem.workbench.pages.tuning.page import Search
from tandem.workbench.pages.tuning.progress import progress_lines
from tests.support.workbench.pages.specs import layer_of, rows_of
from tests.support.workbench.pages.tuning_pages import task_report, unmeasured

COSTS = Search("xgboost", (1_600.0, inf, 1_500.0, 1_000.0, 1_100.0))


def test_lines_and_trials() -> None:
    """Trials cost at most one and a half times the best of all explorers."""
    spec = progress_lines(task_report("a", searches=(COSTS, Search("random", (1_501.0, 1_200.0)))))
    assert spec is not None
    lines = rows_of(spec, layer_of(spec, "line"))
    found = [(each["explorer"], each["trial"], each["best"]) for each in lines]
    assert found == [
        *(("xgboost", number, best) for number, best in COSTS.best()),
        *(("random", number, best) for number, best in Search("", (1_501.0, 1_200.0)).best()),
    ]
    trials = rows_of(spec, layer_of(spec, "point"))
    assert [(each["explorer"], each["trial"], each["cost"]) for each in trials] == [
        ("xgboost", 3, 1_500.0),
        ("xgboost", 4, 1_000.0),
        ("xgboost", 5, 1_100.0),
        ("random", 2, 1_200.0),
    ]
    colour = layer_of(spec, "line")["encoding"]["color"]["scale"]
    assert colour == {"domain": ["xgboost", "random"], "range": ["#0072B2", "#D55E00"]}
    dashes = layer_of(spec, "line")["encoding"]["strokeDash"]["scale"]["range"]
    assert dashes == [[1, 0], [6, 3]]


def test_the_bound_is_the_axis_begin() -> None:
    """From the bound, 800, to the dearest line, 1600, and a twentieth of that on both sides."""
    spec = progress_lines(task_report("a", searches=(COSTS,)))
    assert spec is not None
    y = layer_of(spec, "line")["encoding"]["y"]
    assert y["scale"] == {"domain": [760.0, 1_640.0], "nice": False}
    assert rows_of(spec, layer_of(spec, "rule")) == [{"best": 800.0, "text": "bound 800"}]
    assert layer_of(spec, "text")["encoding"]["text"]["field"] == "text"
    assert spec["height"] == 260


def test_without_a_bound() -> None:
    spec = progress_lines(task_report("a", searches=(COSTS,), bound=inf))
    assert spec is not None
    assert [each["mark"]["type"] for each in spec["layer"]] == ["point", "line"]
    domain = layer_of(spec, "line")["encoding"]["y"]["scale"]["domain"]
    assert domain == [970.0, 1_630.0]
    spec = progress_lines(task_report("a", searches=(Search("grid", (5.0,)),), bound=inf))
    assert spec is not None
    assert layer_of(spec, "line")["encoding"]["y"]["scale"]["domain"] == [4.0, 6.0]
    spec = progress_lines(task_report("a", searches=(Search("grid", (1.0,)),), bound=0.5))
    assert spec is not None
    assert layer_of(spec, "line")["encoding"]["y"]["scale"]["domain"] == [0.475, 1.025]
    spec = progress_lines(task_report("a", searches=(Search("grid", (0.5,)),), bound=inf))
    assert spec is not None
    assert layer_of(spec, "line")["encoding"]["y"]["scale"]["domain"] == [0.0, 1.5]


def test_many_explorers_and_none() -> None:
    searches = tuple(Search(f"e{number}", (float(number + 1),)) for number in range(9))
    spec = progress_lines(task_report("a", searches=searches))
    assert spec is not None
    colours = layer_of(spec, "line")["encoding"]["color"]["scale"]["range"]
    assert len(colours) == 9
    assert (colours[0], len({*colours})) == (colours[8], 8)
    assert progress_lines(unmeasured("a")) is None
    assert progress_lines(task_report("a", searches=())) is None

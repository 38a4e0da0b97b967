"""Estimated against measured cycles: points, the order in which they are drawn, and axes."""

from __future__ import annotations

from tandem.workbench.pages.tuning.page import Point
from tandem.workbench.pages.tuning.predicted import predicted_points
from tests.support.workbench.pages.specs import fields, layer_of, rows_of
from tests.support.workbench.pages.tuning_pages import task_report


def test_points() -> None:
    """The best of each layer come last; axes go a tenth beyond the points."""
    first = task_report("a", best=1_000.0)
    second = task_report("b", best=20.0, points=(Point(10.0, 20.0, "c"), Point(50.0, 40.0, "d")))
    spec = predicted_points([first, second])
    points = rows_of(spec, layer_of(spec, "point"))
    assert [(row["layer"], row["kind"], row["estimate"], row["measured"]) for row in points] == [
        ("a", "other", 1_500.0, 1_300.0),
        ("b", "other", 50.0, 40.0),
        ("a", "best of its layer", 990.0, 1_000.0),
        ("b", "best of its layer", 10.0, 20.0),
    ]
    line = rows_of(spec, layer_of(spec, "line"))
    low, high = 10.0 / 1.1, 1_500.0 * 1.1
    assert line == [{"estimate": low, "measured": low}, {"estimate": high, "measured": high}]
    encoding = layer_of(spec, "point")["encoding"]
    assert encoding["x"]["scale"]["domain"] == encoding["y"]["scale"]["domain"] == [low, high]
    assert (layer_of(spec, "point")["mark"]["filled"], encoding["x"]["scale"]["nice"]) == (
        True,
        False,
    )
    assert fields(layer_of(spec, "point")) == ["layer", "choice", "estimate", "measured"]
    assert spec["height"] == 420


def test_estimates_of_nothing_are_on_the_axis() -> None:
    spec = predicted_points([task_report("a", points=(Point(0.0, 2.0, "c"),))])
    domain = layer_of(spec, "point")["encoding"]["x"]["scale"]["domain"]
    assert domain == [1.0 / 1.1, 2.0 * 1.1]

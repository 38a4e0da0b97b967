"""Estimated against measured cycles."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from tandem.workbench.pages.charts import INK, PALE, ChartSpec, Values, data, spec_of
from tandem.workbench.pages.tuning.page import TaskReport

_HEIGHT = 420
_MARGIN = 1.1
"""Space around the points, as a factor."""


def predicted_points(tasks: Sequence[TaskReport]) -> ChartSpec:
    """A point for each measured choice, on logarithmic axes, and the line of exact estimates."""
    values: Values = [
        {
            "layer": task.name,
            "choice": point.choice,
            "estimate": point.estimate,
            "measured": point.cost,
            "kind": "best of its layer" if point.cost == task.best else "other",
        }
        for task in tasks
        for point in task.points
    ]
    # The best are drawn last, on top of the others.
    values.sort(key=lambda value: value["kind"] != "other")
    costs = [float(value[key]) for value in values for key in ("estimate", "measured")]
    low, high = max(1.0, min(costs)) / _MARGIN, max(costs) * _MARGIN
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    x = alt.X("estimate:Q", scale=scale, axis=alt.Axis(title="estimated cycles", format="~s"))
    y = alt.Y("measured:Q", scale=scale, axis=alt.Axis(title="measured cycles", format="~s"))
    ends: Values = [{"estimate": end, "measured": end} for end in (low, high)]
    line = alt.Chart(data(ends)).mark_line(color=PALE, strokeWidth=1).encode(x=x, y=y)
    kinds = ["other", "best of its layer"]
    dots = (
        alt.Chart(data(values))
        .mark_point(filled=True, opacity=0.7, stroke=INK, strokeWidth=0.4)
        .encode(
            x=x,
            y=y,
            color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=["#56B4E9", "#D55E00"])),
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"])),
            tooltip=[
                "layer:N",
                "choice:N",
                alt.Tooltip("estimate:Q", format=",.0f"),
                alt.Tooltip("measured:Q", format=","),
            ],
        )
    )
    return spec_of(alt.LayerChart(layer=[line, dots]), _HEIGHT)

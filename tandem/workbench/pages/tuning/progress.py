"""The best cost over trials, as figure 12 of AutoTVM (Chen et al., NeurIPS 2018) shows it."""

from __future__ import annotations

from math import isfinite

import altair as alt

from tandem.workbench.pages.charts import INK, PALE, ChartSpec, Values, data, spec_of
from tandem.workbench.pages.tuning.page import TaskReport

# Okabe and Ito's colours without their yellow, which is too pale for a white page.
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#882255", "#999933"]
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
"""Lines differ by more than colour."""
_HEIGHT = 260
_MARGIN = 0.05
"""Space above and below the lines, as a part of their range."""
_SHOWN = 1.5
"""Costs of single trials are shown up to this multiple of the best."""


def progress_lines(task: TaskReport) -> ChartSpec | None:
    """A line for each explorer, and the lower bound; None if nothing was measured."""
    values: Values = [
        {"explorer": search.explorer, "trial": number, "best": best}
        for search in task.searches
        for number, best in search.best()
    ]
    if not values:
        return None
    names = [*dict.fromkeys(str(value["explorer"]) for value in values)]
    least = min(float(value["best"]) for value in values)
    trials: Values = [
        {"explorer": search.explorer, "trial": number, "cost": cost}
        for search in task.searches
        for number, cost in enumerate(search.costs, 1)
        if cost <= _SHOWN * least
    ]
    costs = [
        float(value[key]) for key, rows in (("best", values), ("cost", trials)) for value in rows
    ]
    low = task.bound if isfinite(task.bound) else min(costs)
    margin = _MARGIN * (max(costs) - low) or 1.0
    scale = alt.Scale(domain=[max(0.0, low - margin), max(costs) + margin], nice=False)
    y = alt.Y("best:Q", scale=scale, axis=alt.Axis(title="best cycles", format=",.0f"))
    x = alt.X("trial:Q", axis=alt.Axis(title="trials", format="d", grid=False, tickMinStep=1))
    colours = [_COLOURS[at % len(_COLOURS)] for at in range(len(names))]
    dashes = [_DASHES[at % len(_DASHES)] for at in range(len(names))]
    legend = alt.Legend(symbolType="stroke")
    colour = alt.Color("explorer:N", scale=alt.Scale(domain=names, range=colours), legend=legend)
    dots = (
        alt.Chart(data(trials))
        .mark_point(filled=True, opacity=0.35, size=18)
        .encode(
            x=x,
            y=alt.Y("cost:Q", scale=scale),
            color=colour,
            tooltip=["explorer:N", "trial:Q", alt.Tooltip("cost:Q", format=",")],
        )
    )
    lines = (
        alt.Chart(data(values))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=colour,
            strokeDash=alt.StrokeDash(
                "explorer:N", scale=alt.Scale(domain=names, range=dashes), legend=legend
            ),
            tooltip=["explorer:N", "trial:Q", alt.Tooltip("best:Q", format=",")],
        )
    )
    bound: Values = [{"best": low, "text": f"bound {low:,.0f}"}]
    charts = [dots, lines]
    if isfinite(task.bound):
        base = alt.Chart(data(bound))
        charts.append(base.mark_rule(color=PALE, strokeDash=[4, 4]).encode(y=y))
        label = base.mark_text(color=INK, align="left", baseline="bottom", fontSize=10)
        charts.append(label.encode(x=alt.value(4), y=y, text="text:N"))
    return spec_of(alt.LayerChart(layer=charts), _HEIGHT)

"""A bar chart of the gaps to the lower bounds."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from tandem.workbench.pages.charts import INK, ChartSpec, Values, data, layer_axis, spec_of
from tandem.workbench.pages.tuning.page import TaskReport

_BAR = 22
"""The height of a task in pixels."""
_CERTIFIED, _OPEN = "#009E73", "#B4BEC9"
_NAMES = ["certified", "not certified"]


def gap_bars(tasks: Sequence[TaskReport]) -> ChartSpec:
    """A bar for the best choice of each task, and a tick for the default choice."""
    values: Values = [
        {
            "layer": task.name,
            "gap": task.gap,
            "default": task.default_gap,
            "state": _NAMES[not task.certified],
            "end": max(task.gap, task.default_gap or 0),
            "text": f"{task.gap:.2%}",
        }
        for task in tasks
        if task.gap is not None
    ]
    farthest = max(float(value["end"]) for value in values)
    scale = alt.Scale(domain=[0, 1.1 * farthest or 1], nice=False)
    x = alt.X(
        "gap:Q", scale=scale, axis=alt.Axis(title="beyond the bound", format="%", tickCount=10)
    )
    y = layer_axis([task.name for task in tasks if task.gap is not None])
    base = alt.Chart(data(values)).encode(y=y)
    tooltip = [
        "layer:N",
        alt.Tooltip("gap:Q", format=".2%"),
        alt.Tooltip("default:Q", format=".2%"),
        "state:N",
    ]
    colour = alt.Color("state:N", scale=alt.Scale(domain=_NAMES, range=[_CERTIFIED, _OPEN]))
    bars = base.mark_bar().encode(x=x, color=colour, tooltip=tooltip)
    ticks = base.mark_tick(color=INK, thickness=2).encode(x="default:Q", tooltip=tooltip)
    labels = base.mark_text(color=INK, align="left", baseline="middle", dx=6, fontSize=10)
    return spec_of(bars + ticks + labels.encode(x="end:Q", text="text:N"), len(values) * _BAR)

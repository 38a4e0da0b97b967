"""The roofline: multiply-accumulates per cycle over multiply-accumulates per byte moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from tandem.workbench.pages.charts import INK, PALE, ChartSpec, Values, data, spec_of
from tandem.workbench.pages.run.layer_rows import LayerRow
from tandem.workbench.pages.run.paired_bars import (
    hiding_colour,
    hiding_legend,
    hiding_tooltip,
    runs,
)
from tandem.workbench.pages.run.style import Hiding

_MARGIN = 2.0
"""Margin on each side of the points, as a factor."""
_CLOSE = 1.25
"""The same across, where names need space between the points."""
_HEIGHT = 420
_SHAPES = {Hiding.WITHOUT: "circle", Hiding.WITH: "diamond"}


@dataclass(frozen=True, slots=True)
class LayerRun:
    """A layer's run, with latency hiding or without."""

    layer: str
    hiding: Hiding
    macs: int
    loaded: int
    stored: int
    cycles: int | None


def layer_runs(rows: Sequence[LayerRow]) -> list[LayerRun]:
    """All runs of the layers of a page."""
    return [
        LayerRun(row.name, hiding, row.macs, run.loaded, run.stored, run.cycles)
        for row in rows
        for hiding, run in runs(row)
    ]


def roofline(
    found: Sequence[LayerRun], multipliers: int, bytes_per_cycle: float, *, names: bool = False
) -> ChartSpec | None:
    """The roofline chart of runs; None if no layer both multiplies and moves bytes.

    With `names`, layers have their names beside their points, for pictures without tooltips.

    Reads and writes have separate channels, and the busier one is the limit. A layer's loads during
    the previous layer's computation take no cycles of its own, so that a layer can lie above the
    bandwidth roof, but never above the compute roof.
    """
    points = _points(found, multipliers)
    if not points:
        return None
    ridge = multipliers / bytes_per_cycle
    across = [point["intensity"] for point in points] + [ridge]
    margin = _CLOSE if names else _MARGIN
    low, high = min(across) / margin, max(across) * margin
    rates = [point["rate"] for point in points]
    x = alt.X(
        "intensity:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(title="MACs per byte through the busier direction of the bus", grid=False),
    )
    y = alt.Y(
        "rate:Q",
        scale=alt.Scale(type="log", domain=[min(rates) / _MARGIN, multipliers * _MARGIN]),
        axis=alt.Axis(title="MACs per cycle"),
    )
    kinds = [hiding for hiding in Hiding if hiding in {run.hiding for run in found}]
    roof = _roof(low, high, multipliers, bytes_per_cycle)
    lines = alt.Chart(data(points)).mark_line(color=PALE, strokeWidth=1).encode(detail="layer:N")
    charts = [*roof, lines, _dots(points, kinds)]
    if names:
        hidden = [point for point in points if point["hiding"] == Hiding.WITH.value]
        beside = alt.Chart(data(hidden)).mark_text(
            color=INK, align="left", baseline="middle", angle=300, dx=10, fontSize=10
        )
        charts.append(beside.encode(text="layer:N"))
    layers = [chart.encode(x=x, y=y) for chart in charts]
    return spec_of(alt.LayerChart(layer=layers), _HEIGHT)


def _points(found: Sequence[LayerRun], multipliers: int) -> Values:
    return [
        {
            "layer": run.layer,
            "hiding": run.hiding.value,
            "intensity": run.macs / busier,
            "rate": run.macs / run.cycles,
            "cycles": run.cycles,
            "utilisation": run.macs / (run.cycles * multipliers),
        }
        for run in found
        if run.macs and (busier := max(run.loaded, run.stored)) and run.cycles
    ]


def _roof(
    low: float, high: float, multipliers: int, bytes_per_cycle: float
) -> tuple[alt.Chart, ...]:
    """The roof from `low` to `high` multiply-accumulates per byte, and labels of its two parts."""
    ridge = multipliers / bytes_per_cycle
    corners: Values = [
        {"intensity": at, "rate": min(at * bytes_per_cycle, multipliers)}
        for at in (low, ridge, high)
    ]
    flat = {"intensity": high, "rate": multipliers, "text": f"{multipliers:,} multipliers"}
    slope = {"intensity": ridge, "rate": multipliers, "text": f"{bytes_per_cycle:g} bytes a cycle"}
    line = alt.Chart(data(corners)).mark_line(color=INK, strokeWidth=1.5, clip=True)
    return line, _text(flat, 0, -8), _text(slope, -24, 2)


def _text(label: dict[str, Any], right: int, down: int) -> alt.Chart:
    chart = alt.Chart(data([label]))
    text: alt.Chart = chart.mark_text(color=INK, align="right", dx=right, dy=down).encode(
        text="text:N"
    )
    return text


def _dots(points: Values, found: Sequence[Hiding]) -> alt.Chart:
    """The points of the layers, coloured and shaped by `Hiding`, sized by cycles."""
    shapes = alt.Scale(
        domain=[kind.value for kind in found], range=[_SHAPES[kind] for kind in found]
    )
    dots = alt.Chart(data(points)).mark_point(
        filled=True, opacity=0.85, stroke=INK, strokeWidth=0.7
    )
    placed: alt.Chart = dots.encode(
        color=hiding_colour(found),
        shape=alt.Shape("hiding:N", scale=shapes, legend=hiding_legend(found)),
        size=alt.Size("cycles:Q", scale=alt.Scale(range=[30, 400]), legend=None),
        tooltip=[
            "layer:N",
            *hiding_tooltip(found),
            alt.Tooltip("intensity:Q", format=",.2f", title="MACs per byte"),
            alt.Tooltip("rate:Q", format=",.2f", title="MACs per cycle"),
            alt.Tooltip("utilisation:Q", format=".2%"),
            alt.Tooltip("cycles:Q", format=","),
        ],
    )
    return placed

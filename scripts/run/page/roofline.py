"""The roofline: multiply-accumulates for each byte moved, against those done in each cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from scripts.run.page.look import INK, PALE, Hiding, Spec, Values, data, spec_of
from scripts.run.page.pairs import hiding_colour, hiding_legend, hiding_tooltip, hidings, runs
from scripts.run.page.rows import Row

__all__ = ["roofline"]

_MARGIN = 2.0
"""Factor of room on each side of the points."""
_HEIGHT = 420
_SHAPES = {Hiding.WITHOUT: "circle", Hiding.WITH: "diamond"}


def roofline(rows: Sequence[Row], multipliers: int, bytes_per_cycle: float) -> Spec | None:
    """Layers and the machine's roof; None if none multiplies and moves bytes.

    Reads and writes have channels of their own, and the busier one is the limit. What was loaded
    while the layer before it still computed took none of a layer's own cycles, so that a layer can
    lie above the slope; never above the flat part.
    """
    points = _points(rows)
    if not points:
        return None
    ridge = multipliers / bytes_per_cycle
    across = [each["intensity"] for each in points] + [ridge]
    low, high = min(across) / _MARGIN, max(across) * _MARGIN
    rates = [each["rate"] for each in points]
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
    roof = _roof(low, high, multipliers, bytes_per_cycle)
    lines = alt.Chart(data(points)).mark_line(color=PALE, strokeWidth=1).encode(detail="layer:N")
    layers = [each.encode(x=x, y=y) for each in (*roof, lines, _dots(points, hidings(rows)))]
    return spec_of(alt.LayerChart(layer=layers), _HEIGHT)


def _points(rows: Sequence[Row]) -> Values:
    found: Values = []
    for row in rows:
        for hiding, run in runs(row):
            busier = max(run.loaded, run.stored)
            if row.macs and busier and run.cycles:
                found.append(
                    {
                        "layer": row.name,
                        "hiding": hiding.value,
                        "intensity": row.macs / busier,
                        "rate": row.macs / run.cycles,
                        "cycles": run.cycles,
                        "utilisation": run.utilization,
                    }
                )
    return found


def _roof(
    low: float, high: float, multipliers: int, bytes_per_cycle: float
) -> tuple[alt.Chart, ...]:
    """The line from `low` to `high`, and the names of its two parts."""
    ridge = multipliers / bytes_per_cycle
    corners: Values = [
        {"intensity": at, "rate": min(at * bytes_per_cycle, multipliers)}
        for at in (low, ridge, high)
    ]
    flat = {"intensity": high, "rate": multipliers, "text": f"{multipliers:,} multipliers"}
    slope = {"intensity": ridge, "rate": multipliers, "text": f"{bytes_per_cycle:g} bytes a cycle"}
    line = alt.Chart(data(corners)).mark_line(color=INK, strokeWidth=1.5, clip=True)
    return line, _text(flat, 0, -8), _text(slope, -24, 2)


def _text(told: dict[str, Any], right: int, down: int) -> alt.Chart:
    chart = alt.Chart(data([told]))
    text: alt.Chart = chart.mark_text(color=INK, align="right", dx=right, dy=down).encode(
        text="text:N"
    )
    return text


def _dots(points: Values, found: Sequence[Hiding]) -> alt.Chart:
    """Told apart by colour and shape, as large as their cycles."""
    shapes = alt.Scale(
        domain=[each.value for each in found], range=[_SHAPES[each] for each in found]
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

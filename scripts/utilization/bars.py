"""A bar chart of utilisation: for each convolution a bar without latency hiding and one with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO, StringIO
from typing import Any

import altair as alt

from scripts.utilization.rows import Row, Times, total

_WAYS = ("without latency hiding", "with latency hiding")
# A light and a dark colour, so that the bars differ in greyscale too; Okabe and Ito's blue.
_COLOURS = ("#B4BEC9", "#0072B2")
_INK = "#24292F"
_BAR = 20
"""Width of a bar in pixels, which has to hold its percentage."""
_SHORT = 6
"""Length in letters of the longest name that is written horizontally."""
_SHARPNESS = 3
"""Pixels of a PNG per pixel of the chart."""


def draw(rows: Sequence[Row], kind: str) -> bytes:
    """The chart as a picture; `kind` is svg or png."""
    drawn = chart(rows)
    if kind == "svg":
        text = StringIO()
        drawn.save(text, format="svg")
        return text.getvalue().encode()
    pixels = BytesIO()
    drawn.save(pixels, format="png", scale_factor=_SHARPNESS)
    return pixels.getvalue()


def chart(rows: Sequence[Row]) -> alt.LayerChart:
    """Bar chart of the utilisation of each convolution and of all; rows must have cycles."""
    times = [*(row.times for row in rows), total(rows)]
    values = [value for number, one in enumerate(times) for value in _values(number, one)]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("place:O", axis=_axis([each.name for each in times])),
        xOffset=alt.XOffset("way:N", sort=_WAYS),
        y=alt.Y(
            "utilisation:Q",
            axis=alt.Axis(format="%", title="utilisation", tickCount=5),
            scale=alt.Scale(domain=[0, 1]),
        ),
    )
    bars = base.mark_bar().encode(
        color=alt.Color(
            "way:N",
            sort=_WAYS,
            scale=alt.Scale(domain=_WAYS, range=_COLOURS),
            legend=alt.Legend(orient="top", title=None),
        )
    )
    labels = base.mark_text(dy=-5, fontSize=9, color=_INK).encode(
        text=alt.Text("utilisation:Q", format=".0%")
    )
    drawn: alt.LayerChart = (
        alt.layer(bars, labels)
        .properties(width=alt.Step(_BAR, **{"for": "offset"}), height=220)
        .configure_view(stroke=None)
        .configure_axis(labelColor=_INK, titleColor=_INK, titleFontWeight="normal")
        .configure_legend(labelColor=_INK)
    )
    return drawn


def _values(number: int, times: Times) -> list[dict[str, Any]]:
    shares = (times.utilization_without, times.utilization_with)
    return [
        {"place": number, "way": way, "utilisation": share}
        for way, share in zip(_WAYS, shares, strict=True)
    ]


def _axis(names: list[str]) -> alt.Axis:
    """The axis of convolutions, by position, because a convolution may be called `total` too."""
    slanted = max(map(len, names)) > _SHORT
    return alt.Axis(
        title=None,
        labelExpr=f"{json.dumps(names)}[datum.value]",
        labelAngle=-40 if slanted else 0,
        labelLimit=0,
        labelFontWeight=alt.condition(
            f"datum.value == {len(names) - 1}", alt.value("bold"), alt.value("normal")
        ),
        ticks=False,
        domainColor=_INK,
    )

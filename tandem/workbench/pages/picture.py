"""Charts as image files."""

from __future__ import annotations

from io import BytesIO, StringIO
from typing import TypeAlias, TypeVar

import altair as alt

INK = "#24292F"
HIDING_COLOURS = ("#B4BEC9", "#0072B2")
"""Without latency hiding and with it: a light and a dark colour, so that they differ in greyscale
too; Okabe and Ito's blue."""
WAYS = ("without latency hiding", "with latency hiding")
_SHARPNESS = 3
"""Pixels of a PNG per pixel of the chart."""

Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart
AnyChart = TypeVar("AnyChart", bound=Chart)


def styled(chart: AnyChart) -> AnyChart:
    """The chart in the style of all figures."""
    drawn: AnyChart = (
        chart.configure_view(stroke=None)
        .configure_axis(labelColor=INK, titleColor=INK, titleFontWeight="normal")
        .configure_legend(
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            # Browsers have wider fonts than those by which the places of entries are computed.
            columnPadding=36,
        )
    )
    return drawn


def encode(chart: Chart, kind: str) -> bytes:
    """The chart as a picture; `kind` is svg or png."""
    if kind == "svg":
        text = StringIO()
        chart.save(text, format="svg")
        return text.getvalue().encode()
    pixels = BytesIO()
    chart.save(pixels, format="png", scale_factor=_SHARPNESS)
    return pixels.getvalue()

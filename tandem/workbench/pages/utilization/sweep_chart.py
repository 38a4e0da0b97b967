"""A line chart of a sweep: utilisation over the first field, without latency hiding and with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import altair as alt

from tandem.workbench.pages.picture import HIDING_COLOURS, INK, WAYS, encode, styled
from tandem.workbench.pages.utilization.measured_on import measured_on
from tandem.workbench.utilization.sweep import SweptPoint, SweptPoints
from tandem.workbench.utilization.sweep_axes import Axis

SweepChart: TypeAlias = alt.LayerChart | alt.FacetChart
_SIZE = (420, 240)
_DASHES = ([4, 3], [1, 0])


def draw(sweep: SweptPoints, kind: str) -> bytes:
    """The chart as a picture; `kind` is svg or png."""
    return encode(styled_chart(sweep), kind)


def styled_chart(sweep: SweptPoints) -> SweepChart:
    """The chart in the style of all figures, below the machine and the memory that points share."""
    drawn = chart(sweep.points, sweep.axes)
    return styled(drawn.properties(title=measured_on(sweep.config, sweep.memory, sweep.axes)))


def chart(swept: Sequence[SweptPoint], axes: Sequence[Axis]) -> SweepChart:
    """Line chart of the total's utilisation: x is the first field, the colour the second, and each
    value of a third has a chart of its own; without a second field colours tell the two ways."""
    first, *others = axes
    base = alt.Chart(alt.InlineData(values=_values(swept))).encode(
        x=_across(first),
        y=alt.Y(
            "utilisation:Q",
            axis=alt.Axis(format="%", title="utilisation", tickCount=5),
            scale=alt.Scale(domain=[0, 1]),
        ),
        color=_colour(others[0]) if others else _ways(),
    )
    lines = base.mark_line()
    if others:
        lines = lines.encode(strokeDash=_dashes(), detail="way:N")
    points = base.mark_point(filled=True, size=22, opacity=1)
    layers = alt.LayerChart(layer=[lines, points])
    encoded = layers.properties(width=_SIZE[0], height=_SIZE[1])
    if len(others) < 2:
        return encoded
    header = alt.Header(labelColor=INK, titleColor=INK, titleFontWeight="normal")
    return encoded.facet(alt.Facet(f"{others[1].field}:O", header=header), columns=2)


def _values(swept: Sequence[SweptPoint]) -> list[dict[str, Any]]:
    return [
        {**dict(found.point), "way": way, "utilisation": share}
        for found in swept
        if (times := found.total) is not None
        for way, share in zip(
            WAYS, (times.utilization_without, times.utilization_with), strict=True
        )
    ]


def _across(axis: Axis) -> alt.X:
    kind: Literal["log", "linear"] = "log" if axis.is_geometric else "linear"
    scale = alt.Scale(type=kind, domain=[axis.values[0], axis.values[-1]], nice=False, padding=12)
    ticks = alt.Axis(title=axis.field, values=list(axis.values), format="d", grid=False)
    return alt.X(f"{axis.field}:Q", scale=scale, axis=ticks)


def _ways() -> alt.Color:
    """Colours for the two ways."""
    scale = alt.Scale(domain=WAYS, range=HIDING_COLOURS)
    return alt.Color("way:N", sort=WAYS, scale=scale, legend=alt.Legend(orient="top", title=None))


def _colour(axis: Axis) -> alt.Color:
    """Colours for the values of a field."""
    scale = alt.Scale(scheme="viridis", domain=list(axis.values))
    return alt.Color(f"{axis.field}:O", scale=scale)


def _dashes() -> alt.StrokeDash:
    """Dashes for the two ways."""
    scale = alt.Scale(domain=WAYS, range=_DASHES)
    legend = alt.Legend(orient="top", title=None, symbolStrokeColor=INK)
    return alt.StrokeDash("way:N", sort=WAYS, scale=scale, legend=legend)

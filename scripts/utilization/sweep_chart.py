"""A line chart of a sweep: utilisation over the first field, without latency hiding and with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from scripts.utilization.picture import HIDING_COLOURS, INK, WAYS, Chart, encode, styled
from scripts.utilization.sweep import SweptPoint
from scripts.utilization.sweep_axes import Axis

_SIZE = (420, 240)
_DASHES = ([4, 3], [1, 0])


def draw(swept: Sequence[SweptPoint], axes: Sequence[Axis], kind: str) -> bytes:
    """The chart as a picture; `kind` is svg or png."""
    return encode(styled(chart(swept, axes)), kind)


def chart(swept: Sequence[SweptPoint], axes: Sequence[Axis]) -> Chart:
    """Line chart of the total's utilisation: x is the first field, the colour the second, and each
    value of a third has a chart of its own; without a second field colours tell the two ways."""
    first, *others = axes
    lines = alt.Chart(alt.InlineData(values=_values(swept))).mark_line(
        point=alt.OverlayMarkDef(size=22, filled=True)
    )
    encoded: alt.Chart = lines.encode(
        x=_across(first),
        y=alt.Y(
            "utilisation:Q",
            axis=alt.Axis(format="%", title="utilisation", tickCount=5),
            scale=alt.Scale(domain=[0, 1]),
        ),
        **(_ways_and(others[0]) if others else _ways()),
    ).properties(width=_SIZE[0], height=_SIZE[1])
    if len(others) < 2:
        return encoded
    header = alt.Header(labelColor=INK, titleColor=INK, titleFontWeight="normal")
    faceted: alt.FacetChart = encoded.facet(
        alt.Facet(f"{others[1].field}:O", header=header), columns=2
    )
    return faceted


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


def _ways() -> dict[str, alt.Color]:
    """Colours for the two ways."""
    scale = alt.Scale(domain=WAYS, range=HIDING_COLOURS)
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=2)
    return {"color": alt.Color("way:N", sort=WAYS, scale=scale, legend=legend)}


def _ways_and(axis: Axis) -> dict[str, alt.Color | alt.StrokeDash]:
    """Dashes for the two ways, and colours for the values of a field."""
    colours = alt.Scale(scheme="viridis", domain=list(axis.values))
    dashes = alt.Scale(domain=WAYS, range=_DASHES)
    return {
        "color": alt.Color(f"{axis.field}:O", scale=colours),
        "strokeDash": alt.StrokeDash("way:N", sort=WAYS, scale=dashes, legend=_legend(INK)),
    }


def _legend(colour: str) -> alt.Legend:
    """A legend of the two ways, with lines of this colour."""
    return alt.Legend(
        orient="top",
        title=None,
        symbolType="stroke",
        symbolStrokeWidth=2,
        symbolStrokeColor=colour,
    )

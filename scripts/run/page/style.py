"""The style of the charts: colours, sizes, and the axis of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

import altair as alt

from sim.why.causes import Cause

ChartSpec: TypeAlias = dict[str, Any]
"""A chart in Vega-Lite's JSON."""
Values: TypeAlias = list[dict[str, Any]]
"""Rows of a chart's data."""

INK = "#24292f"
PALE = "#8b949e"
# Okabe and Ito's colours, which stay apart for every kind of colour blindness. Their yellow is too
# pale for a white page; wine and olive are Tol's, and grey stands for start and end.
CAUSE_COLOURS: Mapping[Cause, str] = {
    Cause.GEMM: "#0072B2",
    Cause.RESET: "#56B4E9",
    Cause.ALU: "#009E73",
    Cause.LOAD: "#E69F00",
    Cause.WAIT_LOAD: "#D55E00",
    Cause.WAIT_STORE: "#CC79A7",
    Cause.WAIT_TOKEN: "#882255",
    Cause.WAIT_FETCH: "#999933",
    Cause.OTHER: "#9AA1A9",
}
LOADED, STORED = "#56B4E9", "#E69F00"


class Hiding(Enum):
    """With latency hiding or without; the values are labels for people."""

    WITHOUT = "without"
    WITH = "with"


HIDING_COLOURS: Mapping[Hiding, str] = {Hiding.WITHOUT: "#B4BEC9", Hiding.WITH: "#0072B2"}


def data(values: Values) -> alt.InlineData:
    """Rows of data, inlined in the chart."""
    return alt.InlineData(values=values)


def layer_axis(names: Sequence[str]) -> alt.Y:
    """A vertical axis of layers, in the order of `names`."""
    axis = alt.Axis(title=None, labelLimit=280, ticks=False, domain=False)
    return alt.Y("layer:N", axis=axis, sort=[*names], scale=alt.Scale(paddingInner=0.25))


def short_axis(title: str) -> alt.Axis:
    """A horizontal axis of large numbers, with SI prefixes."""
    # By default Vega labels zero with the prefix of the other labels.
    zero = "datum.value ? datum.label : '0'"
    return alt.Axis(format="~s", labelExpr=zero, title=title, tickCount=10)


def spec_of(chart: alt.Chart | alt.LayerChart, height: int) -> ChartSpec:
    """The chart as JSON in the page's style: as wide as its container, `height` pixels high.

    Altair checks the chart against Vega-Lite's schema.
    """
    sized = chart.properties(width="container", height=height)
    styled = sized.configure(
        font="system-ui, sans-serif",
        background="transparent",
        axis=alt.AxisConfig(
            labelColor=INK,
            labelFontSize=11,
            titleColor=INK,
            titleFontSize=12,
            titleFontWeight="normal",
            gridColor="#e7eaee",
        ),
        legend=alt.LegendConfig(
            orient="top",
            title=None,
            titleFontSize=12,
            titleFontWeight="normal",
            labelFontSize=12,
            labelLimit=300,
        ),
        view=alt.ViewConfig(stroke=None),
    )
    spec: ChartSpec = styled.to_dict()
    return spec

"""The style of the charts, and the axis of layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt

ChartSpec: TypeAlias = dict[str, Any]
"""A chart in Vega-Lite's JSON."""
Values: TypeAlias = list[dict[str, Any]]
"""Rows of a chart's data."""

INK = "#24292f"
PALE = "#8b949e"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart.

    Attributes
    ----------
    key
        The chart's identifier within the page.
    text
        An explanation of the chart.
    leads
        Whether the chart comes before the page's table.
    """

    key: str
    title: str
    text: str
    spec: ChartSpec
    leads: bool = False


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
    return styled.to_dict()

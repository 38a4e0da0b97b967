"""The charts of the page of a search for operations."""

from __future__ import annotations

import altair as alt

from tandem.workbench.pages.charts import INK, PALE, Figure, Values, data, short_axis, spec_of
from tandem.workbench.pages.discovery.page import DiscoveryPage

_BEFORE, _AFTER, _EXTENDED = PALE, "#0072B2", "#D55E00"
_ROW = 26


def figures(page: DiscoveryPage) -> tuple[Figure, ...]:
    """The charts, in the order of the page."""
    return (
        Figure(
            "front",
            "Cycles against area",
            "A point is a set of operations that no other set of those considered beats in cycles "
            "without more look-up tables: the mean ratio of cycles, estimated by counting passes, "
            "against the estimated tables.",
            spec_of(_front(page), 320),
            leads=True,
        ),
        Figure(
            "networks",
            "Cycles of each network",
            "Exact cycles on the machine alone, with the operations that were found, and with the "
            "extension that a person made, if the machine can have it.",
            spec_of(_networks(page), 80 + 3 * _ROW * len(page.found.networks)),
        ),
    )


def _front(page: DiscoveryPage) -> alt.LayerChart:
    values: Values = [
        {
            "tables": one.rated.cost.lut,
            "ratio": one.rated.ratio,
            "operations": "; ".join(one.operations) or "none",
        }
        for one in page.found.front
    ]
    scale = alt.Scale(zero=False, padding=12)
    base = alt.Chart(data(values)).encode(
        x=alt.X("tables:Q", title="look-up tables, estimated", axis=alt.Axis(format="~s")),
        y=alt.Y("ratio:Q", title="cycles, of those before", scale=scale, axis=alt.Axis(format="%")),
        tooltip=["operations:N", alt.Tooltip("tables:Q", format=","), alt.Tooltip("ratio:Q")],
    )
    return alt.LayerChart(
        layer=[
            base.mark_line(interpolate="step-after", color=_AFTER, strokeWidth=1),
            base.mark_point(filled=True, size=40, opacity=1, color=_AFTER),
        ]
    )


def _networks(page: DiscoveryPage) -> alt.LayerChart:
    kinds = (page.found.baseline.name, "with what was found", "with the extension")
    values: Values = [
        {"model": one.model, "machine": kind, "cycles": cycles}
        for one in page.found.networks
        for kind, cycles in zip(kinds, (one.before, one.after, one.extended), strict=True)
        if cycles is not None
    ]
    colours = alt.Scale(domain=[*kinds], range=[_BEFORE, _AFTER, _EXTENDED])
    base = alt.Chart(data(values)).encode(
        y=alt.Y("model:N", title=None, sort=[one.model for one in page.found.networks]),
        yOffset=alt.YOffset("machine:N", sort=[*kinds]),
        x=alt.X("cycles:Q", axis=short_axis("cycles")),
    )
    bars = base.mark_bar().encode(color=alt.Color("machine:N", scale=colours))
    texts = base.mark_text(align="left", dx=4, color=INK).encode(
        text=alt.Text("cycles:Q", format=",")
    )
    return alt.LayerChart(layer=[bars, texts])

"""A bar chart of times of networks, by what takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from tandem.workbench.pages.picture import INK, encode, styled

# Okabe and Ito's blue, light blue and orange: they differ in greyscale too.
_COLOURS = ("#0072B2", "#56B4E9", "#E69F00")


def draw(bars: Sequence[tuple[str, Mapping[str, float]]]) -> bytes:
    """The chart as SVG, on a logarithmic axis; `bars` are milliseconds by what takes them, by
    network."""
    values = [
        {"network": name, "what": what, "milliseconds": milliseconds}
        for name, by_what in bars
        for what, milliseconds in by_what.items()
    ]
    whats = list(dict.fromkeys(what for _, by_what in bars for what in by_what))
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X(
            "milliseconds:Q",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(title="milliseconds", format="~g", tickCount=6),
        ),
        y=alt.Y("network:N", sort=[name for name, _ in bars], axis=alt.Axis(title=None)),
        yOffset=alt.YOffset("what:N", sort=whats),
    )
    # A bar on a logarithmic axis begins where the axis does, not at zero.
    least = min(milliseconds for _, by_what in bars for milliseconds in by_what.values())
    marks = base.mark_bar().encode(
        x2=alt.datum(least / 2),
        color=alt.Color(
            "what:N",
            sort=whats,
            scale=alt.Scale(domain=whats, range=_COLOURS[: len(whats)]),
            legend=alt.Legend(orient="top", title=None, labelLimit=0),
        ),
    )
    labels = base.mark_text(align="left", dx=3, fontSize=9, color=INK).encode(
        text=alt.Text("milliseconds:Q", format=".3~g")
    )
    chart = alt.layer(marks, labels).properties(width=460, height=alt.Step(13, **{"for": "offset"}))
    return encode(styled(chart), "svg")

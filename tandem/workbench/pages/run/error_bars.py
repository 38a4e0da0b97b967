"""A bar chart of what layers lose by their integers."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import altair as alt

from tandem.compiler.quantise.layer_errors import LayerError
from tandem.workbench.pages.charts import INK, ChartSpec, Values, data, layer_axis, spec_of
from tandem.workbench.pages.run.paired_bars import BAR
from tandem.workbench.pages.run.style import OWN_LOSS


def error_bars(errors: Sequence[LayerError]) -> ChartSpec | None:
    """SQNR of each layer by itself, in the network's order, and a tick at that with what it
    inherits; None if there is no number to draw."""
    values: Values = [
        {
            "layer": error.name,
            "operators": " + ".join(error.operators),
            "own": error.own_sqnr if isfinite(error.own_sqnr) else None,
            "sqnr": error.sqnr if isfinite(error.sqnr) else None,
            "clipped": error.clipped,
        }
        for error in errors
        if isfinite(error.own_sqnr) or isfinite(error.sqnr)
    ]
    if not values:
        return None
    y = layer_axis([str(each["layer"]) for each in values])
    tooltip: list[str | alt.Tooltip] = [
        "layer:N",
        "operators:N",
        alt.Tooltip("own:Q", format=".1f", title="by itself, dB"),
        alt.Tooltip("sqnr:Q", format=".1f", title="with what it inherits, dB"),
        alt.Tooltip("clipped:Q", format=".2%"),
    ]
    base = alt.Chart(data(values)).encode(y=y, tooltip=tooltip)
    bars = base.mark_bar(color=OWN_LOSS).encode(x=alt.X("own:Q", axis=alt.Axis(title="SQNR, dB")))
    ticks = base.mark_tick(color=INK, thickness=3).encode(x="sqnr:Q")
    return spec_of(bars + ticks, len(values) * (BAR + 6))

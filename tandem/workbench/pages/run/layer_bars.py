"""Bar charts by layer: utilisation and bytes moved."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from tandem.workbench.pages.charts import (
    INK,
    ChartSpec,
    Values,
    data,
    layer_axis,
    short_axis,
    spec_of,
)
from tandem.workbench.pages.run.layer_rows import LayerRow
from tandem.workbench.pages.run.paired_bars import (
    BAR,
    end_labels,
    hiding_colour,
    hiding_kinds,
    hiding_tooltip,
    offset,
    pairs_height,
    runs,
)
from tandem.workbench.pages.run.style import LOADED, STORED


def utilization_bars(rows: Sequence[LayerRow]) -> ChartSpec:
    """Utilisation of each layer that multiplies, without and with latency hiding."""
    values: Values = [
        {
            "layer": row.name,
            "hiding": hiding.value,
            "utilisation": run.utilization,
            "cycles": run.cycles,
            "MACs": row.macs,
        }
        for row in rows
        for hiding, run in runs(row)
        if run.utilization is not None
    ]
    names = [*dict.fromkeys(str(each["layer"]) for each in values)]
    percent = alt.Axis(format=".0%", tickCount=10)
    base = alt.Chart(data(values)).encode(
        y=layer_axis(names),
        yOffset=offset(rows),
        x=alt.X("utilisation:Q", axis=percent, scale=alt.Scale(domain=[0, 1])),
    )
    bars = base.mark_bar().encode(
        color=hiding_colour(hiding_kinds(rows)),
        tooltip=[
            "layer:N",
            *hiding_tooltip(hiding_kinds(rows)),
            alt.Tooltip("utilisation:Q", format=".2%"),
            alt.Tooltip("cycles:Q", format=","),
            alt.Tooltip("MACs:Q", format=","),
        ],
    )
    labels = end_labels(base).encode(text=alt.Text("utilisation:Q", format=".1%"))
    return spec_of(bars + labels, pairs_height(rows, len(names)))


def byte_bars(rows: Sequence[LayerRow]) -> ChartSpec:
    """Bytes that each layer moved, and a tick at the minimum traffic."""
    values: Values = [
        {"layer": row.name, "way": direction, "order": order, "bytes": moved, "least": row.least}
        for row in rows
        for order, (direction, moved) in enumerate(
            (("loaded", row.hidden.loaded), ("stored", row.hidden.stored))
        )
    ]
    y = layer_axis([each.name for each in rows])
    colours = alt.Scale(domain=["loaded", "stored"], range=[LOADED, STORED])
    least = alt.Tooltip("least:Q", format=",", title="least of both")
    base = alt.Chart(data(values))
    bars = base.mark_bar().encode(
        y=y,
        x=alt.X("bytes:Q", axis=short_axis("bytes")),
        color=alt.Color("way:N", scale=colours),
        order="order:O",
        tooltip=["layer:N", "way:N", alt.Tooltip("bytes:Q", format=","), least],
    )
    ticks = base.mark_tick(color=INK, thickness=3).encode(
        y=y, x="least:Q", tooltip=["layer:N", least]
    )
    return spec_of(bars + ticks, len(rows) * (BAR + 6))

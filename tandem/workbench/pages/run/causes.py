"""Charts of cycles by cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from tandem.runtime.layer_profiles import LayerProfile
from tandem.sim.why.causes import Cause
from tandem.workbench.pages.charts import ChartSpec, Values, data, layer_axis, short_axis, spec_of
from tandem.workbench.pages.run.layer_rows import LayerRow
from tandem.workbench.pages.run.paired_bars import (
    BAR,
    end_labels,
    hiding_kinds,
    hiding_tooltip,
    offset,
    pairs_height,
    runs,
)
from tandem.workbench.pages.run.style import CAUSE_COLOURS, Hiding

_LABEL_SPACE = 1.2
"""Ratio of the chart's width to the longest bar, whose label is at its end."""


def cause_bars(rows: Sequence[LayerRow]) -> ChartSpec:
    """Chart with a stacked bar of cycles by cause for each layer and run."""
    bars = {(row.name, hiding): [run] for row in rows for hiding, run in runs(row)}
    return _chart(bars, rows, BAR)


def cause_totals(rows: Sequence[LayerRow]) -> ChartSpec:
    """Chart with a stacked bar of cycles by cause, summed over all layers, for each run."""
    bars = {
        ("all layers", hiding): [run for row in rows for of, run in runs(row) if of is hiding]
        for hiding in hiding_kinds(rows)
    }
    return _chart(bars, rows, 2 * BAR)


def _chart(
    bars: Mapping[tuple[str, Hiding], Sequence[LayerProfile]], rows: Sequence[LayerRow], bar: int
) -> ChartSpec:
    parts: Values = []
    ends: Values = []
    for (name, hiding), layers in bars.items():
        bar_key = {"layer": name, "hiding": hiding.value}
        parts += [bar_key | part for part in _parts(layers)]
        cycles = sum(layer.cycles or 0 for layer in layers)
        text = f"{cycles:,}" if len(hiding_kinds(rows)) == 1 else f"{hiding.value}: {cycles:,}"
        ends.append(bar_key | {"cycles": cycles, "text": text})
    names = [*dict.fromkeys(name for name, _ in bars)]
    longest = max(each["cycles"] for each in ends)
    y, beside = layer_axis(names), offset(rows)
    x = alt.X(
        "cycles:Q",
        axis=short_axis("cycles"),
        scale=alt.Scale(domain=[0, _LABEL_SPACE * longest], nice=False),
    )
    colours = alt.Scale(
        domain=[each.value for each in Cause], range=[CAUSE_COLOURS[each] for each in Cause]
    )
    stacks = (
        alt.Chart(data(parts))
        .mark_bar()
        .encode(
            y=y,
            yOffset=beside,
            x=x,
            color=alt.Color("cause:N", scale=colours),
            order="order:O",
            tooltip=[
                "layer:N",
                *hiding_tooltip(hiding_kinds(rows)),
                "cause:N",
                alt.Tooltip("cycles:Q", format=","),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )
    labels = end_labels(alt.Chart(data(ends))).encode(
        y=y, yOffset=beside, x="cycles:Q", text="text:N"
    )
    return spec_of(stacks + labels, pairs_height(rows, len(names), bar))


def _parts(layers: Sequence[LayerProfile]) -> Values:
    """A row for each cause with cycles, summed over `layers`."""
    sums = {cause: sum(layer.causes.get(cause, 0) for layer in layers) for cause in Cause}
    whole = sum(sums.values())
    return [
        {"cause": cause.value, "order": order, "cycles": cycles, "share": cycles / whole}
        for order, (cause, cycles) in enumerate(sums.items())
        if cycles
    ]

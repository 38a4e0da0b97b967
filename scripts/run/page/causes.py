"""Charts of what cycles went to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from runtime.layers import Cause, LayerProfile
from scripts.run.page.look import (
    CAUSE_COLOURS,
    Hiding,
    Spec,
    Values,
    data,
    layer_axis,
    short_axis,
    spec_of,
)
from scripts.run.page.pairs import (
    BAR,
    end_labels,
    hiding_tooltip,
    hidings,
    offset,
    pairs_height,
    runs,
)
from scripts.run.page.rows import Row

__all__ = ["cause_bars", "cause_totals"]

_LABEL_ROOM = 1.2
"""Of the longest bar: the text at its end has to fit as well."""


def cause_bars(rows: Sequence[Row]) -> Spec:
    """A stacked bar a layer and run."""
    bars = {(row.name, hiding): [run] for row in rows for hiding, run in runs(row)}
    return _chart(bars, rows, BAR)


def cause_totals(rows: Sequence[Row]) -> Spec:
    """A stacked bar for each run of all layers."""
    bars = {
        ("all layers", hiding): [run for row in rows for of, run in runs(row) if of is hiding]
        for hiding in hidings(rows)
    }
    return _chart(bars, rows, 2 * BAR)


def _chart(
    bars: Mapping[tuple[str, Hiding], Sequence[LayerProfile]], rows: Sequence[Row], bar: int
) -> Spec:
    parts: Values = []
    ends: Values = []
    for (name, hiding), layers in bars.items():
        who = {"layer": name, "hiding": hiding.value}
        parts += [who | part for part in _parts(layers)]
        cycles = sum(each.cycles or 0 for each in layers)
        told = f"{cycles:,}" if len(hidings(rows)) == 1 else f"{hiding.value}: {cycles:,}"
        ends.append(who | {"cycles": cycles, "text": told})
    names = [*dict.fromkeys(name for name, _ in bars)]
    longest = max(each["cycles"] for each in ends)
    y, beside = layer_axis(names), offset(rows)
    x = alt.X(
        "cycles:Q",
        axis=short_axis("cycles"),
        scale=alt.Scale(domain=[0, _LABEL_ROOM * longest], nice=False),
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
                *hiding_tooltip(hidings(rows)),
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
    """A row for each cause that layers together spent cycles on."""
    sums = {cause: sum(each.causes.get(cause, 0) for each in layers) for cause in Cause}
    whole = sum(sums.values())
    return [
        {"cause": cause.value, "order": order, "cycles": cycles, "share": cycles / whole}
        for order, (cause, cycles) in enumerate(sums.items())
        if cycles
    ]

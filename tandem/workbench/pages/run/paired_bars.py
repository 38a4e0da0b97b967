"""Parts of bar charts that show each layer without latency hiding above the same layer with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from tandem.runtime.layer_profiles import LayerProfile
from tandem.workbench.pages.charts import INK
from tandem.workbench.pages.run.layer_rows import LayerRow
from tandem.workbench.pages.run.style import HIDING_COLOURS, Hiding

BAR = 10
"""The height of a bar in pixels."""
_PAIR_GAP = 6  # pixels


def runs(row: LayerRow) -> Iterator[tuple[Hiding, LayerProfile]]:
    """A layer's runs, the one without latency hiding first."""
    if row.plain is not None:
        yield Hiding.WITHOUT, row.plain
    yield Hiding.WITH, row.hidden


def hiding_kinds(rows: Sequence[LayerRow]) -> list[Hiding]:
    """The kinds of runs that the rows have, the one without latency hiding first."""
    return [hiding for hiding, _ in runs(rows[0])]


def hiding_colour(kinds: Sequence[Hiding]) -> alt.Color:
    """A colour for each kind of run, with a legend if there are two."""
    names = [kind.value for kind in kinds]
    colours = [HIDING_COLOURS[kind] for kind in kinds]
    return alt.Color(
        "hiding:N",
        scale=alt.Scale(domain=names, range=colours),
        legend=hiding_legend(kinds),
    )


def hiding_legend(kinds: Sequence[Hiding]) -> alt.Legend | None:
    """A legend of the kinds of runs, if there are two."""
    return (
        alt.Legend(title="latency hiding:", titleOrient="left", titlePadding=28)
        if len(kinds) > 1
        else None
    )


def hiding_tooltip(kinds: Sequence[Hiding]) -> list[alt.Tooltip]:
    """A tooltip with the kind of run, if there are two."""
    return [alt.Tooltip("hiding:N", title="latency hiding")] if len(kinds) > 1 else []


def offset(rows: Sequence[LayerRow]) -> alt.YOffset:
    """The vertical offset of the bars of a pair."""
    order = [each.value for each in hiding_kinds(rows)]
    return alt.YOffset("hiding:N", sort=order, scale=alt.Scale(paddingInner=0.12))


def pairs_height(rows: Sequence[LayerRow], pairs: int, bar_height: int = BAR) -> int:
    """The height in pixels of `pairs` pairs of bars; of single bars, if layers have one run."""
    return pairs * (bar_height * len(hiding_kinds(rows)) + _PAIR_GAP)


def end_labels(chart: alt.Chart) -> alt.Chart:
    """Text marks to the right of the ends of the chart's bars; the caller encodes the text."""
    return chart.mark_text(color=INK, align="left", baseline="middle", dx=4, fontSize=10)

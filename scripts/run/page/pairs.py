"""Bars in pairs: a layer without latency hiding above the same layer with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from runtime.layers import LayerProfile
from scripts.run.page.look import HIDING_COLOURS, INK, Hiding
from scripts.run.page.rows import Row

__all__ = [
    "BAR",
    "end_labels",
    "hiding_colour",
    "hiding_legend",
    "hiding_tooltip",
    "hidings",
    "offset",
    "pairs_height",
    "runs",
]

BAR = 10
"""Pixels of a bar."""
_GAP = 6


def runs(row: Row) -> Iterator[tuple[Hiding, LayerProfile]]:
    """A layer's runs, the one without latency hiding first."""
    if row.plain is not None:
        yield Hiding.WITHOUT, row.plain
    yield Hiding.WITH, row.hidden


def hidings(rows: Sequence[Row]) -> list[Hiding]:
    """Which runs there are."""
    return [hiding for hiding, _ in runs(rows[0])]


def hiding_colour(found: Sequence[Hiding]) -> alt.Color:
    """A colour for each of these runs; with a legend if they are two."""
    names = [each.value for each in found]
    colours = [HIDING_COLOURS[each] for each in found]
    return alt.Color(
        "hiding:N",
        scale=alt.Scale(domain=names, range=colours),
        legend=hiding_legend(found),
    )


def hiding_legend(found: Sequence[Hiding]) -> alt.Legend | None:
    """Says which run is which, if there are two."""
    return alt.Legend(title="latency hiding:", titleOrient="left") if len(found) > 1 else None


def hiding_tooltip(found: Sequence[Hiding]) -> list[alt.Tooltip]:
    """The same when one points at a mark."""
    return [alt.Tooltip("hiding:N", title="latency hiding")] if len(found) > 1 else []


def offset(rows: Sequence[Row]) -> alt.YOffset:
    """Places the bars of a pair."""
    order = [each.value for each in hidings(rows)]
    return alt.YOffset("hiding:N", sort=order, scale=alt.Scale(paddingInner=0.12))


def pairs_height(rows: Sequence[Row], pairs: int, bar: int = BAR) -> int:
    """Pixels of so many pairs; of single bars, if there is one run."""
    return pairs * (bar * len(hidings(rows)) + _GAP)


def end_labels(chart: alt.Chart) -> alt.Chart:
    """Text behind the ends of bars."""
    text: alt.Chart = chart.mark_text(color=INK, align="left", baseline="middle", dx=4, fontSize=10)
    return text

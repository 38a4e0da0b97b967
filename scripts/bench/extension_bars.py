"""A bar chart of a network's cycles by extension and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from tandem.workbench.pages.picture import INK, encode, styled

# Okabe and Ito's blue and orange: they differ in greyscale too.
_COLOURS = ("#0072B2", "#E69F00")
_MILLION = 1e6


def draw(bars: Sequence[tuple[str, Mapping[str, int]]], network: str) -> bytes:
    """The chart as SVG; `bars` are cycles by memory, by name of the extensions."""
    values = [
        {"extensions": name, "memory": memory, "cycles": cycles / _MILLION}
        for name, by_memory in bars
        for memory, cycles in by_memory.items()
    ]
    memories = list(dict.fromkeys(memory for _, by_memory in bars for memory in by_memory))
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("cycles:Q", axis=alt.Axis(title=f"million cycles of {network}")),
        y=alt.Y("extensions:N", sort=[name for name, _ in bars], axis=alt.Axis(title=None)),
        yOffset=alt.YOffset("memory:N", sort=memories),
    )
    marks = base.mark_bar().encode(
        color=alt.Color(
            "memory:N",
            sort=memories,
            scale=alt.Scale(domain=memories, range=_COLOURS[: len(memories)]),
            legend=alt.Legend(orient="top", title=None),
        )
    )
    labels = base.mark_text(align="left", dx=3, fontSize=9, color=INK).encode(
        text=alt.Text("cycles:Q", format=".2f")
    )
    chart = alt.layer(marks, labels).properties(width=420, height=alt.Step(16, **{"for": "offset"}))
    return encode(styled(chart), "svg")

"""The memory map: the areas of the accelerator's memory, by address and kind."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from tandem.workbench.pages.charts import ChartSpec, Values, data, short_axis, spec_of
from tandem.workbench.pages.run.page import Area, AreaKind

# Okabe and Ito's colours, as in the other charts; each kind also has its own row.
_COLOURS = {
    AreaKind.INPUTS: "#56B4E9",
    AreaKind.OUTPUTS: "#CC79A7",
    AreaKind.ACTIVATIONS: "#009E73",
    AreaKind.WEIGHTS: "#0072B2",
    AreaKind.NUMBERS: "#E69F00",
    AreaKind.MICRO_OPS: "#D55E00",
    AreaKind.INSTRUCTIONS: "#9AA1A9",
}
_ROW, _BOX = 30, 22
"""Pixels of height."""
_NARROW = 1 / 500
"""Narrow areas, which are drawn as ticks: at most this fraction of the map's width."""


def memory_map(areas: Sequence[Area]) -> ChartSpec:
    """Chart with a row for each kind of area, and a box for each area."""
    values: Values = [
        {
            "name": area.name,
            "kind": area.kind.value,
            "first": area.address,
            "end": area.address + area.bytes,
            "bytes": area.bytes,
            "range": f"{area.address:#x} to {area.address + area.bytes:#x}",
        }
        for area in areas
    ]
    kinds = [kind for kind in AreaKind if any(area.kind is kind for area in areas)]
    names = [kind.value for kind in kinds]
    # Without Shift, the wheel scrolls the page.
    zoom = alt.selection_interval(
        bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]", name="zoom"
    )
    colours = alt.Scale(domain=names, range=[_COLOURS[each] for each in kinds])
    base = alt.Chart(data(values)).encode(
        y=alt.Y("kind:N", sort=names, axis=alt.Axis(title=None, ticks=False, domain=False)),
        x=alt.X("first:Q", axis=short_axis("address in bytes")),
        color=alt.Color("kind:N", scale=colours, legend=None),
        tooltip=[
            "name:N",
            "kind:N",
            alt.Tooltip("range:N", title="addresses"),
            alt.Tooltip("bytes:Q", format=","),
        ],
    )
    boxes = base.mark_bar(stroke="white", strokeWidth=0.4, size=_BOX, clip=True).encode(x2="end:Q")
    layers = [boxes.add_params(zoom)]
    end = max(each["end"] for each in values)
    # Bars of these areas would be narrower than a pixel. (Vega warns of a chart without rows.)
    if narrow := [each for each in values if each["bytes"] <= end * _NARROW]:
        ticks = base.properties(data=data(narrow)).mark_tick(thickness=2, bandSize=_BOX, clip=True)
        layers.append(ticks)
    return spec_of(alt.LayerChart(layer=layers), _ROW * len(kinds))

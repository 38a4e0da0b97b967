"""A bar chart of utilisation: for each convolution a bar without latency hiding and one with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.pages.picture import HIDING_COLOURS, INK, WAYS, encode, styled
from tandem.workbench.pages.utilization.measured_on import measured_on
from tandem.workbench.published.figures import published
from tandem.workbench.utilization.conv_layers import RESNET18
from tandem.workbench.utilization.rows import Row, Times, total

_BAR = 20
"""Width of a bar in pixels, which has to hold its percentage."""
_TVM_MULTIPLIERS = 256
"""Those of the machine that TVM's figure was measured on."""
_PADDING = {"left": 5, "top": 5, "right": 40, "bottom": 5}
"""Around the chart, in pixels: browsers have wider fonts than those it is measured with."""
_SHORT = 6
"""Length in letters of the longest name that is written horizontally."""


def draw(rows: Sequence[Row], config: HardwareConfig, memory: MemoryModel, kind: str) -> bytes:
    """The chart as a picture; `kind` is svg or png."""
    return encode(styled_chart(rows, config, memory), kind)


def styled_chart(
    rows: Sequence[Row], config: HardwareConfig, memory: MemoryModel
) -> alt.LayerChart:
    """The chart in the style of all figures, below the machine and the memory that were measured;
    rows must have cycles."""
    return styled(chart(rows).properties(title=measured_on(config, memory)))


def chart(rows: Sequence[Row]) -> alt.LayerChart:
    """Bar chart of the utilisation of each convolution and of all; rows must have cycles."""
    times = [*(row.times for row in rows), total(rows)]
    values = [value for number, one in enumerate(times) for value in _values(number, one)]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("place:O", axis=_axis([each.name for each in times])),
        xOffset=alt.XOffset("way:N", sort=WAYS),
        y=alt.Y(
            "utilisation:Q",
            axis=alt.Axis(format="%", title="utilisation", tickCount=5),
            scale=alt.Scale(domain=[0, 1]),
        ),
    )
    bars = base.mark_bar().encode(
        color=alt.Color(
            "way:N",
            sort=WAYS,
            scale=alt.Scale(domain=WAYS, range=HIDING_COLOURS),
            legend=alt.Legend(orient="top", title=None),
        )
    )
    percentage = alt.Text("utilisation:Q", format=".0%")
    # Lines that pass behind a label leave space for it.
    halos = base.mark_text(dy=-5, fontSize=9, stroke="white", strokeWidth=4).encode(text=percentage)
    labels = base.mark_text(dy=-5, fontSize=9, color=INK).encode(text=percentage)
    drawn = alt.LayerChart(layer=[*_published(rows), bars, halos, labels])
    step = alt.Step(_BAR, **{"for": "offset"})
    return drawn.properties(width=step, height=220, padding=_PADDING)


def _published(rows: Sequence[Row]) -> list[alt.Chart]:
    """Lines at what TVM published of the same experiment: ResNet-18's convolutions on an array of
    as many multipliers. Nothing for other convolutions and arrays."""
    same = {layer.name: layer for layer in RESNET18}
    if any(
        row.layer != same.get(row.layer.name) or row.times.multipliers != _TVM_MULTIPLIERS
        for row in rows
    ):
        return []
    found = published()
    values = [
        {"share": row["value"], "of": f"TVM's best layer|{str(row['what']).split(', ')[-1]}"}
        for row in found
        if row["system"] == "TVM with VDLA"
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(y=alt.Y("share:Q"))
    text = base.mark_text(align="left", dx=4, lineBreak="|", fontSize=9, color=INK)
    return [
        base.mark_rule(strokeDash=[6, 4], color=INK),
        text.encode(x=alt.value("width"), text=alt.Text("of:N")),
    ]


def _values(number: int, times: Times) -> list[dict[str, Any]]:
    shares = (times.utilization_without, times.utilization_with)
    return [
        {"place": number, "way": way, "utilisation": share}
        for way, share in zip(WAYS, shares, strict=True)
    ]


def _axis(names: list[str]) -> alt.Axis:
    """The axis of convolutions, by position, because a convolution may be called `total` too."""
    slanted = max(map(len, names)) > _SHORT
    return alt.Axis(
        title=None,
        labelExpr=f"{json.dumps(names)}[datum.value]",
        labelAngle=-40 if slanted else 0,
        labelLimit=0,
        labelFontWeight=alt.condition(
            f"datum.value == {len(names) - 1}", alt.value("bold"), alt.value("normal")
        ),
        ticks=False,
        domainColor=INK,
    )

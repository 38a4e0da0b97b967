"""Convolutions below the machine's roofline, without latency hiding and with it."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.errors import PageError
from tandem.workbench.pages.picture import encode
from tandem.workbench.pages.run.roofline import LayerRun, roofline
from tandem.workbench.pages.run.style import Hiding
from tandem.workbench.pages.utilization.measured_on import measured_on
from tandem.workbench.utilization.rows import Row

_WIDTH = 760


def draw(rows: Sequence[Row], config: HardwareConfig, memory: MemoryModel, kind: str) -> bytes:
    """The chart as a picture; `kind` is svg or png. Raises as `chart`."""
    return encode(chart(rows, config, memory), kind)


def chart(rows: Sequence[Row], config: HardwareConfig, memory: MemoryModel) -> alt.LayerChart:
    """A point for each convolution and way; rows must have cycles.

    Raises
    ------
    PageError
        No layer has a place in the chart.
    """
    runs = [run for row in rows for run in _runs(row)]
    spec = roofline(runs, config.macs, config.bus_bytes / memory.interval, names=True)
    if spec is None:
        raise PageError("a roofline needs a layer that multiplies and moves bytes")
    drawn = alt.LayerChart.from_dict(spec | {"width": _WIDTH})
    return drawn.properties(title=measured_on(config, memory))


def _runs(row: Row) -> list[LayerRun]:
    times, macs = row.times, row.times.macs
    plain, hidden = row.traffic_without, row.traffic_with
    ways = (
        (Hiding.WITHOUT, plain, times.cycles_without),
        (Hiding.WITH, hidden, times.cycles_with),
    )
    return [
        LayerRun(times.name, hiding, macs, traffic.loaded, traffic.stored, cycles)
        for hiding, traffic, cycles in ways
    ]

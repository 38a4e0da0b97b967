"""The lines above a chart that say on which machine and memory it was measured."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.workbench.pages.picture import INK
from tandem.workbench.utilization.sweep_axes import Axis


def measured_on(
    config: HardwareConfig, memory: MemoryModel, swept: Sequence[Axis] = ()
) -> alt.TitleParams:
    """The title of a chart, in lines: the machine, the memory, and the fields of a sweep."""
    lines = [_machine(config), _memory(memory)]
    if swept:
        lines.append(f"but for what is swept: {_names(swept)}")
    return alt.TitleParams(
        text=lines, anchor="start", fontSize=10, fontWeight="normal", color=INK, offset=8
    )


def _machine(config: HardwareConfig) -> str:
    array = f"{config.batch} x {config.block_in} x {config.block_out}"
    return f"{config.name}: {array} multipliers, {config.bus_bits}-bit bus"


def _memory(memory: MemoryModel) -> str:
    names = [name for name, model in MEMORY_PRESETS.items() if model == memory]
    name = f"memory {names[0]}" if names else "memory"
    times = f"latency {memory.latency}, interval {memory.interval}"
    return f"{name}: {times}, {memory.in_flight} in flight"


def _names(swept: Sequence[Axis]) -> str:
    return ", ".join(axis.field for axis in swept)

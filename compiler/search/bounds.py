"""What bounds layers: array, ALU or bus, by the work of their programs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from tandem.compiler.search.work import LayerWork, StreamWork
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel


class Bound(Enum):
    """A part of the machine that a layer cannot be faster than."""

    ARRAY = "array"
    ALU = "ALU"
    BUS = "bus"


def layer_bounds(
    layer: LayerWork, config: HardwareConfig, memory: MemoryModel
) -> Mapping[Bound, float]:
    """The fewest cycles that each part needs for a layer.

    Array and ALU issue one micro-op in a cycle, and never both; the bus reads and writes a beat in
    each interval.
    """
    busiest = max(layer.read_bytes, layer.written_bytes)
    return {
        Bound.ARRAY: layer.gemm_uops,
        Bound.ALU: layer.alu_uops,
        Bound.BUS: busiest / config.bus_bytes * memory.interval,
    }


def bounded_by(layer: LayerWork, config: HardwareConfig, memory: MemoryModel) -> Bound:
    """The part that needs most cycles; array and ALU count together, as they share a pipeline."""
    found = layer_bounds(layer, config, memory)
    array, alu, bus = (found[bound] for bound in Bound)
    if bus > array + alu:
        return Bound.BUS
    return Bound.ARRAY if array >= alu else Bound.ALU


def utilization(config: HardwareConfig, work: StreamWork, cycles: int) -> float:
    """Useful multiply-accumulates as a part of what the array could do."""
    return work.macs / (cycles * config.macs)

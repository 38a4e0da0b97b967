"""The least cycles of layers that are computed one after another.

Let t(k) be the cycle of the last micro-op of layer k. Of what layers j + 1 to k read, only so much
can have crossed the bus by t(j) as then fits on chip, and of what they write, all but so much has
crossed it by t(k). So t(k) is at least t(j) and the time of array and ALU, of the reads that are
left or of the writes that are left, for every j below k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import MemoryId
from tandem.workbench.network_bound.traffic import LayerTraffic


@dataclass(frozen=True, slots=True)
class Held:
    """The most bytes on chip between two layers: of operands by memory, of operands on their way
    into a memory, and of what is to be stored."""

    operands: Mapping[MemoryId, int]
    buffered: int
    results: int


def bus_cycles(size: int, config: HardwareConfig, memory: MemoryModel) -> int:
    """Cycles of the bus for so many bytes in one direction."""
    return -(-size // config.bus_bytes) * memory.interval


def least_cycles(
    layers: Sequence[LayerTraffic], held: Held, config: HardwareConfig, memory: MemoryModel
) -> int:
    """Cycles from launch to done that no schedule of these layers, in this order, goes below."""
    count, latency = len(layers), memory.latency

    def apart(size: int) -> int:
        """Cycles from the first beat of so many bytes to the last."""
        return max(0, bus_cycles(size, config, memory) - memory.interval)

    # An instruction is read before a kernel of micro-ops or an operand.
    times = [2 * latency] + [0] * count
    done = 0
    for begin in range(count):
        compute = read = written = 0
        early = dict.fromkeys(held.operands, 0)
        for number in range(begin + 1, count + 1):
            layer = layers[number - 1]
            compute += layer.compute
            read += layer.late
            written += layer.written
            for operand in layer.early:
                read += operand.size
                if begin and operand.since <= begin:
                    early[operand.memory] += operand.size
            loaded = sum(min(size, held.operands[memory]) for memory, size in early.items())
            loaded = min(sum(early.values()), loaded + held.buffered)
            reads, writes = apart(read - loaded), apart(max(0, written - held.results))
            times[number] = max(times[number], times[begin] + max(compute, reads, writes))
        done = max(done, times[begin] + apart(written))
    # The last STORE is acknowledged.
    return max(done, times[count]) + latency

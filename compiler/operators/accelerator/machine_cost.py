"""What instructions cost, in cycles: the numbers that estimates are made of."""

from __future__ import annotations

from dataclasses import dataclass

from hw.config import HardwareConfig
from hw.memories import MemoryId

__all__ = ["MachineCost", "MemoryTiming"]

_HANDSHAKES = 8
"""Cycles that a LOAD or STORE takes beside the memory's latency and its data: its start, the way
of an address to the bus, the way of data to the memory on chip (ARCHITECTURE.md, rules 1 to 5)."""


@dataclass(frozen=True, slots=True)
class MemoryTiming:
    """What a compiler wants to know of the memory behind the bus.

    Attributes
    ----------
    latency
        Cycles from an accepted read to its first beat.
    interval
        Cycles a beat.
    """

    latency: int = 16
    interval: int = 1


@dataclass(frozen=True, slots=True)
class MachineCost:
    """Durations on one configuration with one memory."""

    config: HardwareConfig
    memory: MemoryTiming = MemoryTiming()

    @property
    def overhead(self) -> int:
        """Of any LOAD or STORE."""
        return self.memory.latency + _HANDSHAKES

    def beats(self, memory: MemoryId, elements: int) -> int:
        """Cycles of the bus for elements that lie together."""
        size = elements * self.config.element_bytes(memory)
        return -(-size // self.config.bus_bytes) * self.memory.interval

    def load(self, memory: MemoryId, elements: int, padding: int = 0) -> int:
        """A LOAD: an element a cycle at most, and zeros beside them."""
        return self.overhead + max(self.beats(memory, elements), elements) + padding

    def alu(self, elements: int, tensor_operand: bool) -> int:
        """An ALU instruction over so many accumulators."""
        slow = tensor_operand and self.config.acc_read_ports == 1
        return elements * (2 if slow else 1)

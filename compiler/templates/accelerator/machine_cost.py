"""Durations of instructions in cycles, as estimates assume them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from compiler.templates.space import Floats, Ints
from hw.config import HardwareConfig
from hw.timing import TRANSFER_OVERHEAD, issue_cycles
from hw.topology import MemoryId

__all__ = ["MachineCost", "MemoryTiming"]

_HANDSHAKES = 2 * TRANSFER_OVERHEAD
"""Cycles that the estimate adds to a LOAD or STORE beside the memory's latency and its data. Twice
what one takes that has the bus for itself, since estimates count neither the arbitration between
units nor the tokens that they wait for."""

Count = TypeVar("Count", int, Ints, Floats)
"""A number, or one for each of many choices."""


@dataclass(frozen=True, slots=True)
class MemoryTiming:
    """The timing of the memory behind the bus.

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
    """Durations of instructions on one configuration with one memory."""

    config: HardwareConfig
    memory: MemoryTiming = MemoryTiming()

    @property
    def overhead(self) -> int:
        """Cycles of any LOAD or STORE beside its data."""
        return self.memory.latency + _HANDSHAKES

    @property
    def store_gap(self) -> int:
        """Cycles from a STORE's start to its first beat: data wait for no acknowledgement."""
        return _HANDSHAKES

    def beats(self, memory: MemoryId, elements: Count) -> Count:
        """Cycles of the bus for adjacent elements."""
        size = elements * self.config.element_bytes(memory)
        return -(-size // self.config.bus_bytes) * self.memory.interval

    def load(self, memory: MemoryId, elements: Ints, padding: Ints | int = 0) -> Ints:
        """Cycles of a LOAD: at most one element a cycle, and one zero of padding."""
        longer: Ints = np.maximum(self.beats(memory, elements), elements)
        return self.overhead + longer + padding

    def alu(self, elements: Count, tensor_operand: bool) -> Count:
        """Cycles of an ALU instruction over so many accumulators."""
        return elements * issue_cycles(self.config, two_reads=tensor_operand)

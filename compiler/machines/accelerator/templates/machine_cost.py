"""Cost model of the accelerator: estimated durations of instructions, in cycles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tandem.compiler.plan.space import Floats, Ints
from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.features import Feature
from tandem.hw.timing import TRANSFER_OVERHEAD, issue_cycles
from tandem.hw.topology import MemoryId

_HANDSHAKES = 2 * TRANSFER_OVERHEAD
"""Estimated cycles of a LOAD or STORE beside DRAM latency and data: twice the overhead of a
transfer alone on the bus, since bus arbitration and waiting for tokens are not modelled."""

Count = TypeVar("Count", int, Ints, Floats)
"""A scalar, or an array with a number for each choice."""


@dataclass(frozen=True, slots=True)
class MemoryTiming:
    """The timing of DRAM.

    Attributes
    ----------
    latency
        Cycles from an accepted read burst to its first beat.
    interval
        Cycles per beat.
    """

    latency: int = 16
    interval: int = 1


@dataclass(frozen=True, slots=True)
class MachineCost:
    """Durations of instructions, for a configuration and a DRAM timing.

    Attributes
    ----------
    coding
        How weights lie in DRAM; None for int8.
    """

    config: HardwareConfig
    memory: MemoryTiming = MemoryTiming()
    coding: Coding | None = None

    def of(self, workload: object) -> MachineCost:
        """The durations for a workload, whose weights may be codes."""
        coding = getattr(workload, "coding", None)
        return self if coding == self.coding else replace(self, coding=coding)

    def element_bytes(self, memory: MemoryId) -> int:
        """Bytes of one element of `memory` in DRAM."""
        if memory is MemoryId.WGT and self.coding is not None:
            return self.config.element_bytes(MemoryId.WGT_CODES, self.coding)
        return self.config.element_bytes(memory)

    @property
    def overhead(self) -> int:
        """Cycles of a LOAD or STORE, not counting its data."""
        return self.memory.latency + _HANDSHAKES

    @property
    def store_gap(self) -> int:
        """Cycles from the start of a STORE to its first beat; no acknowledgement is awaited."""
        return _HANDSHAKES

    @property
    def fetch(self) -> int:
        """Cycles that an instruction's own fetch keeps the bus from loads."""
        return -(-INSTRUCTION_BYTES // self.config.bus_bytes) * self.memory.interval

    @property
    def overwrites(self) -> bool:
        """Whether first products overwrite accumulators, so that no time goes into resets."""
        return Feature.OVERWRITE in self.config.features

    def beats(self, memory: MemoryId, elements: Count) -> Count:
        """Bus cycles to transfer adjacent elements."""
        size = elements * self.element_bytes(memory)
        return -(-size // self.config.bus_bytes) * self.memory.interval

    def load(self, memory: MemoryId, elements: Ints, padding: Ints | int = 0) -> Ints:
        """Cycles of a LOAD, which writes at most one element or one zero of padding per cycle."""
        longer: Ints = np.maximum(self.beats(memory, elements), elements)
        return self.overhead + longer + padding

    def alu(self, elements: Count, tensor_operand: bool) -> Count:
        """Cycles of an ALU instruction over this number of accumulators."""
        return elements * issue_cycles(self.config, two_reads=tensor_operand)

"""How much the machine holds on chip, in bytes of DRAM: what may have been loaded early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.timing import OUT_QUEUE_BEATS
from tandem.hw.topology import MemoryId

OPERANDS = (MemoryId.WGT, MemoryId.INP, MemoryId.PAR)
"""The memories that the load unit writes."""


@dataclass(frozen=True, slots=True)
class OnChipBytes:
    """The most bytes of DRAM that can be on chip, by memory.

    Attributes
    ----------
    operands
        Of the memories that are loaded while compute is at other layers: WGT, INP and PAR. ACC is
        loaded by compute.
    results
        Of OUT, and of beats on their way to the bus.
    buffered
        Of what a LOAD has been given and not yet written to a memory.
    everything
        Of all memories and buffers together.
    """

    operands: Mapping[MemoryId, int]
    results: int
    buffered: int
    everything: int

    @staticmethod
    def of(config: HardwareConfig) -> OnChipBytes:
        """Those of a machine."""
        block = config.element_bytes(MemoryId.WGT)
        if Feature.COMPRESSED_WEIGHTS in config.features:
            codes = (config.element_bytes(MemoryId.WGT_CODES, coding) for coding in Coding)
            block = max(block, *codes)
        sizes: dict[MemoryId, int] = {
            memory: config.depth(memory) * config.element_bytes(memory)
            for memory in (MemoryId.INP, MemoryId.ACC, MemoryId.OUT, MemoryId.PAR)
            if memory in config.memories
        }
        sizes[MemoryId.WGT] = config.depth(MemoryId.WGT) * block
        operands = {memory: sizes.get(memory, 0) for memory in OPERANDS}
        results = sizes[MemoryId.OUT] + OUT_QUEUE_BEATS * config.bus_bytes
        buffered = config.load_buffer * config.bus_bytes
        by_compute = config.compute_buffer * config.bus_bytes
        waiting = OUT_QUEUE_BEATS * config.bus_bytes + buffered + by_compute
        everything = sum(sizes.values()) + waiting
        return OnChipBytes(operands, results, buffered, everything)

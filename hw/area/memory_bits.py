"""The bits of a machine's memories, queues included: a formula, which synthesis confirms."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.storage import Kind, storage_of


def memory_bits(config: HardwareConfig) -> int:
    """Bits of all on-chip memories and tables, in all their copies, and of all queues."""
    return sum(storage.bits for storage in storage_of(config).values())


def queue_bits(config: HardwareConfig) -> int:
    """Bits of the queues of instructions, of data read, and of bursts under way."""
    every = storage_of(config).values()
    others = (Kind.MEMORY, Kind.TABLE)
    return sum(storage.bits for storage in every if storage.kind not in others)

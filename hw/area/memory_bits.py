"""The bits of a machine's memories, queues included: a formula, which synthesis confirms."""

from __future__ import annotations

from hw.config import HardwareConfig
from hw.encoding import INSTRUCTION_BYTES
from hw.timing import OUT_QUEUE_BEATS
from hw.topology import MemoryId, Unit

_INDEX_BITS = 32
"""The number of an instruction in its program, which queues keep with it."""
_BEATS_BITS = 9
"""The length of a burst, up to 256 beats."""
_OWNER_BITS = 2
"""A client of the read master: fetch, compute or load."""
_ORDER_BITS = 3 + _INDEX_BITS
_RESPONSE_BITS = 1


def memory_bits(config: HardwareConfig) -> int:
    """Bits of all on-chip memories, in all their copies, and of all queues."""
    # ACC_8BIT is another view of ACC; OUT, which is a copy of ACC's low bytes, counts.
    memories = (memory for memory in config.memories if memory is not MemoryId.ACC_8BIT)
    chip = sum(
        8 * config.element_bytes(memory) * config.depth(memory) * _copies(config, memory)
        for memory in memories
    )
    return chip + queue_bits(config)


def _copies(config: HardwareConfig, memory: MemoryId) -> int:
    return config.acc_read_ports if memory is MemoryId.ACC else 1


def queue_bits(config: HardwareConfig) -> int:
    """Bits of the queues of instructions, of data read, and of bursts under way."""
    bus = config.bus_bits
    fetched = max(2, config.fetch_buffer * INSTRUCTION_BYTES // config.bus_bytes)
    reads, writes = (
        1 << (most - 1).bit_length() for most in (config.reads_in_flight, config.writes_in_flight)
    )
    return (
        len(Unit) * config.instruction_queue * (8 * INSTRUCTION_BYTES + _INDEX_BITS)
        + bus * (fetched + config.load_buffer + config.compute_buffer)
        + (bus + config.bus_bytes) * OUT_QUEUE_BEATS
        + reads * _OWNER_BITS
        + writes * (_ORDER_BITS + _BEATS_BITS + _RESPONSE_BITS)
    )

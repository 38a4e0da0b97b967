"""Every memory and queue of a machine: its name, width, depth and kind.

The RTL takes depths from here, the cycle model and the estimates of area and block RAM take all. A
test compares the list with the queues in the generated Verilog.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.timing import OUT_QUEUE_BEATS, READ_PRIORITY
from tandem.hw.topology import MemoryId, Unit
from tandem.hw.widening import widening_of

INDEX_BITS = 32
"""Bits of an instruction's index in its program, which queues keep with it."""
BEATS_BITS = 9
"""Bits of a burst's length in beats; AXI4's longest burst has 256."""
ORDER_FLAGS = 3
"""Bits of a write order beside its burst and index: it writes, ends its instruction, pushes."""


class Kind(Enum):
    """What storage is for, and so what it becomes."""

    MEMORY = "memory"
    """An on-chip memory of the instruction set: block RAM if it is deep."""
    QUEUE = "queue"
    """Instructions, or data that was read: block RAM if it is deep."""
    TRANSFERS = "transfers"
    """What is known of bursts that are under way: a few words, always look-up tables."""
    TABLE = "table"
    """The table of codes, which is read without a clock: always look-up tables."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Words of one memory or queue.

    Attributes
    ----------
    width
        Bits of a word.
    depth
        Words.
    copies
        How often it is there: ACC has one for each read port.
    bank
        Bits of a word that are written alone.
    """

    name: str
    kind: Kind
    width: int
    depth: int
    copies: int = 1
    bank: int = 0

    @property
    def bits(self) -> int:
        """Of all copies together."""
        return self.width * self.depth * self.copies


@cache
def storage_of(config: HardwareConfig) -> dict[str, Storage]:
    """All storage of a machine, by name; in bits and words."""
    every = (*_memories(config), *_queues(config), *_transfers(config), *_tables(config))
    return {storage.name: storage for storage in every}


def _memories(config: HardwareConfig) -> list[Storage]:
    """The on-chip memories; ACC_8BIT and WGT_CODES are other views of ACC and WGT, OUT a copy of
    ACC's low bytes."""
    found = []
    for memory in config.memories:
        if memory.written is memory:
            width = 8 * config.element_bytes(memory)
            copies = config.acc_read_ports if memory is MemoryId.ACC else 1
            name, depth = memory.name.lower(), config.depth(memory)
            bank = min(width, config.bus_bits)
            found.append(Storage(name, Kind.MEMORY, width, depth, copies, bank))
    return found


def _queues(config: HardwareConfig) -> list[Storage]:
    instruction, bus = 8 * INSTRUCTION_BYTES, config.bus_bits
    depths = {
        "fetch_buffer": max(2, config.fetch_buffer * instruction // bus),
        "load_buffer": config.load_buffer,
        "compute_buffer": config.compute_buffer,
    }
    words, depth = instruction + INDEX_BITS, config.instruction_queue
    return [
        *(Storage(name, Kind.QUEUE, bus, beats, bank=bus) for name, beats in depths.items()),
        *(Storage(queue_of(unit), Kind.QUEUE, words, depth, bank=words) for unit in Unit),
    ]


def queue_of(unit: Unit) -> str:
    """The name of a unit's queue of instructions."""
    return f"{unit.name.lower()}_queue"


def _tables(config: HardwareConfig) -> list[Storage]:
    """The copies of the table of codes, in the widener."""
    if MemoryId.WGT_CODES not in config.memories:
        return []
    copies = widening_of(config).table_copies.items()
    return [
        Storage(f"table_of_{entries}", Kind.TABLE, 8, entries, number, bank=8)
        for entries, number in copies
        if number
    ]


def _transfers(config: HardwareConfig) -> list[Storage]:
    reads, writes = (
        1 << (most - 1).bit_length() for most in (config.reads_in_flight, config.writes_in_flight)
    )
    owner = (len(READ_PRIORITY) - 1).bit_length()
    shapes = {
        "out_queue": (config.bus_bits + config.bus_bytes, OUT_QUEUE_BEATS),
        "read_owners": (owner, reads),
        "outstanding_writes": (ORDER_FLAGS + INDEX_BITS, writes),
        "lengths": (BEATS_BITS, writes),
        "responses": (1, writes),
        # Of outstanding bursts, for the fault of a bus that hangs.
        "read_addresses": (config.address_bits, reads),
        "write_addresses": (config.address_bits, writes),
    }
    return [
        Storage(name, Kind.TRANSFERS, width, depth, bank=width)
        for name, (width, depth) in shapes.items()
    ]

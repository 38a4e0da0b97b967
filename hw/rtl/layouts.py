"""Layouts of the RTL's packed words, derived from the encoding tables."""

from functools import reduce
from operator import or_

from amaranth.hdl import Shape, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES, Field, WordLayout, opcodes_of
from tandem.hw.events import UnitEvent
from tandem.hw.routing import executing_unit
from tandem.hw.storage import BEATS_BITS, INDEX_BITS
from tandem.hw.topology import LOADED_BY, MemoryId, Unit

INSTRUCTION_BITS = 8 * INSTRUCTION_BYTES


def clog2(value: int) -> int:
    """Ceiling of the binary logarithm: the bits of an index below `value`."""
    return (value - 1).bit_length()


def shape_of(field: Field) -> Shape:
    """The Amaranth shape of a field of an encoding."""
    return signed(field.width) if field.signed else unsigned(field.width)


def view_of(layout: WordLayout) -> data.FlexibleLayout:
    """The Amaranth layout of an encoding."""
    return data.FlexibleLayout(
        layout.size,
        {field.name: data.Field(shape_of(field), field.lsb) for field in layout},
    )


def queued_layout() -> data.StructLayout:
    """Entry of an instruction queue: the word and its index in the program."""
    return data.StructLayout({"word": INSTRUCTION_BITS, "index": INDEX_BITS})


def loaded_by(config: HardwareConfig, unit: Unit) -> tuple[MemoryId, ...]:
    """The memory ids of the LOADs that `unit` executes, of those that the machine has."""
    return tuple(memory for memory in LOADED_BY[unit] if memory in config.memories)


def executed_by(config: HardwareConfig, unit: Unit, head: data.View) -> Value:
    """Whether `unit`, load or store, executes an instruction; compute executes the rest.

    `head` is the word in the layout of LOAD and STORE.
    """
    conditions = []
    for opcode in opcodes_of(config):
        memories = [m for m in loaded_by(config, unit) if executing_unit(opcode, m) is unit]
        if executing_unit(opcode) is unit:
            conditions.append(head.opcode == opcode)
        elif memories:
            named = reduce(or_, (head.memory_type == memory for memory in memories))
            conditions.append((head.opcode == opcode) & named)
    return reduce(or_, conditions)


def burst_layout(config: HardwareConfig) -> data.StructLayout:
    """One AXI burst: a beat-aligned address and a number of beats."""
    return data.StructLayout({"address": config.address_bits, "beats": BEATS_BITS})


def order_layout(config: HardwareConfig) -> data.StructLayout:
    """A write order: a burst, if `writes`; the last order of its instruction, if `ends`."""
    return data.StructLayout(
        {
            "burst": burst_layout(config),
            "writes": 1,
            "ends": 1,
            "push": 1,
            "index": INDEX_BITS,
        }
    )


def strobed_layout(config: HardwareConfig) -> data.StructLayout:
    """A beat of write data and its byte strobes."""
    return data.StructLayout({"data": config.bus_bits, "strobe": config.bus_bytes})


def row_bits(config: HardwareConfig) -> int:
    """Bits of a row's size in bytes in a LOAD or STORE: up to 65535 of the largest elements."""
    return 16 + max(clog2(config.element_bytes(memory)) for memory in config.memories)


def rows_layout(address_bits: int, size_bits: int) -> data.StructLayout:
    """A two-dimensional tile of DRAM: `rows` rows of `size` bytes, `stride` bytes apart."""
    return data.StructLayout(
        {"address": address_bits, "size": size_bits, "stride": size_bits, "rows": 16}
    )


UNIT_EVENTS = data.StructLayout({event.name.lower(): 1 for event in UnitEvent})
"""Events of a unit's instructions in this cycle, a bit for each `UnitEvent`."""


class UnitStatus(wiring.Signature):
    """State of a unit, for the counters, the registers and the `events` port.

    Members
    -------
    busy, token, memory
        Working, waiting for a token, or for memory: at most one is high; all low means idle.
    quiet
        No instruction is in progress and no instruction starts in this cycle.
    active, index, waits
        An instruction is in progress or at the gate; its index; the tokens that the instruction
        at the gate lacks (bit 0 from the previous unit, bit 1 from the next).
    events, end_index
        Events of this cycle, and the index of the instruction that ends.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "busy": Out(1),
                "token": Out(1),
                "memory": Out(1),
                "quiet": Out(1),
                "active": Out(1),
                "index": Out(INDEX_BITS),
                "waits": Out(2),
                "end_index": Out(INDEX_BITS),
                "events": Out(UNIT_EVENTS),
            }
        )

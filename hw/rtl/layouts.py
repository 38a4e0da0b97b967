"""Packed words of the RTL, derived from the encoding tables."""

from functools import reduce
from operator import or_

from amaranth.hdl import Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from hw.config import HardwareConfig
from hw.encoding import INSTRUCTION_BYTES, Opcode, WordLayout
from hw.events import UnitEvent
from hw.routing import executing_unit
from hw.topology import LOADED_BY, MemoryId, Unit

__all__ = [
    "BEATS_BITS",
    "INDEX_BITS",
    "INSTRUCTION_BITS",
    "NO_INSTRUCTION",
    "UNIT_EVENTS",
    "UnitStatus",
    "burst_layout",
    "clog2",
    "executed_by",
    "queued_layout",
    "row_bits",
    "rows_layout",
    "view_of",
]

INSTRUCTION_BITS = 8 * INSTRUCTION_BYTES
INDEX_BITS = 32
"""Instructions of a launch are numbered with this many bits."""
NO_INSTRUCTION = (1 << INDEX_BITS) - 1
"""What stands for an instruction's index where no single one is at fault."""
BEATS_BITS = 9
"""Enough to count the 256 beats of AXI4's longest burst."""


def clog2(value: int) -> int:
    """The number of bits that count `value` things."""
    return (value - 1).bit_length()


def view_of(layout: WordLayout) -> data.FlexibleLayout:
    """An encoding as an Amaranth layout."""
    return data.FlexibleLayout(
        layout.size,
        {
            field.name: data.Field(
                signed(field.width) if field.signed else unsigned(field.width), field.lsb
            )
            for field in layout
        },
    )


def queued_layout() -> data.StructLayout:
    """What waits in an instruction queue: the word and its index in the program."""
    return data.StructLayout({"word": INSTRUCTION_BITS, "index": INDEX_BITS})


def executed_by(unit: Unit, head: data.View) -> Value:
    """Whether an instruction is for load or store; compute executes all others.

    `head` is the word in the layout of LOAD and STORE.
    """
    conditions = []
    for opcode in Opcode:
        memories = [m for m in LOADED_BY[unit] if executing_unit(opcode, m) is unit]
        if executing_unit(opcode) is unit:
            conditions.append(head.opcode == opcode)
        elif memories:
            named = reduce(or_, (head.memory_type == memory for memory in memories))
            conditions.append((head.opcode == opcode) & named)
    return reduce(or_, conditions)


def burst_layout(config: HardwareConfig) -> data.StructLayout:
    """One AXI burst: a beat-aligned address and a number of beats."""
    return data.StructLayout({"address": config.address_bits, "beats": BEATS_BITS})


def row_bits(config: HardwareConfig) -> int:
    """Bits for the bytes in one row of a LOAD or STORE: 65535 of the largest elements."""
    return 16 + max(clog2(config.element_bytes(memory)) for memory in MemoryId)


def rows_layout(address_bits: int, size_bits: int) -> data.StructLayout:
    """A two-dimensional stretch of DRAM: `rows` rows of `size` bytes, `stride` bytes apart."""
    return data.StructLayout(
        {"address": address_bits, "size": size_bits, "stride": size_bits, "rows": 16}
    )


UNIT_EVENTS = data.StructLayout({event.name.lower(): 1 for event in UnitEvent})
"""What happens to a unit's instructions in this cycle."""


class UnitStatus(wiring.Signature):
    """What a unit is doing, for the counters, the registers and the `events` port.

    Members
    -------
    busy, token, memory
        At most one of them each cycle; none is idle.
    quiet
        Nothing is under way, and nothing can start: there is no instruction, or it lacks a token.
    active, index, waits
        There is an instruction, under way or at the gate; its index; the tokens that the one at
        the gate lacks (bit 0 from the previous unit, bit 1 from the next).
    events, end_index
        What happens in this cycle, and the index of the instruction that ends.
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

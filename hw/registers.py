"""The map of the control registers on the AXI4-Lite slave.

Offsets are in bytes, registers are 32 bits; a 64-bit value is two registers, low half first.
`hw.rtl.registers` implements the map, the simulators' harnesses drive it, and `tandem rtl` writes
it as a C header.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntFlag

from hw.features import BASE, Feature
from hw.topology import MemoryId, Unit

MAGIC = 0x544E444D
"""Value of register `magic`: ASCII `TNDM`."""
VERSION = 0x0001_0001
"""Version of this register map: major in the upper half, minor in the lower."""
ADDRESS_BITS = 10
"""Width of the AXI4-Lite addresses."""


class Access(Enum):
    """Access types of a register."""

    READ_ONLY = "ro"
    READ_WRITE = "rw"
    WRITE_ONE = "w1"
    """Writing 1 to a bit triggers its action (launch, clear); reads return the state."""


class Control(IntFlag):
    """Bits of register `control`; writing 1 triggers the action."""

    LAUNCH = 1
    SOFT_RESET = 2
    """Stop issuing, drain outstanding bus transactions, then reset everything but the memories."""
    SNAPSHOT = 4
    """Copy all performance counters to their registers; also happens at done and at an error."""


class Status(IntFlag):
    """Bits of register `status`."""

    RUNNING = 1
    DONE = 2
    """The last launch ended without a fault; cleared by the next launch."""
    ERROR = 4
    """The last launch ended with a fault; cleared by the next launch."""
    DRAINING = 8
    """A stop waits for outstanding bus transactions; until then launches are refused."""


class State(Enum):
    """Counted states of a unit in a cycle; a unit in none of these states is idle."""

    BUSY = "busy"
    TOKEN = "token"
    MEMORY = "memory"


_STATE_TEXTS = {
    State.BUSY: "was busy",
    State.TOKEN: "waited for a token",
    State.MEMORY: "waited for memory",
}


@dataclass(frozen=True, slots=True)
class Register:
    """One control register."""

    name: str
    offset: int
    bits: int
    access: Access
    meaning: str
    needs: frozenset[Feature] = BASE
    """The features of a machine with this register."""


CONTROL = 0x008


def register_map() -> tuple[Register, ...]:
    """Every register that a machine can have, in order of offset."""
    ro, rw, w1 = Access.READ_ONLY, Access.READ_WRITE, Access.WRITE_ONE
    registers = [
        Register("magic", 0x000, 32, ro, "reads as ASCII TNDM"),
        Register("version", 0x004, 32, ro, "version of this map, major.minor as 16.16 bits"),
        Register("control", CONTROL, 32, w1, "bit 0 launch, 1 soft reset, 2 snapshot"),
        Register("status", 0x00C, 32, ro, "bit 0 running, 1 done, 2 error, 3 draining"),
        Register("irq_enable", 0x010, 32, rw, "bit 0 done, 1 error"),
        Register("irq_status", 0x014, 32, w1, "bit 0 done, 1 error; write one to clear"),
        Register("error_code", 0x018, 32, ro, "why the last launch stopped: one of FAULT"),
        Register("error_instruction", 0x01C, 32, ro, "index of the instruction at fault"),
        Register(
            "shape", 0x020, 32, ro, "from bit 0 up, 8 bits each: log2 of batch, block_in, block_out"
        ),
        Register(
            "buffers",
            0x024,
            32,
            ro,
            "from bit 0 up, 8 bits each: log2 of the bytes of UOP, INP, WGT, ACC",
        ),
        Register(
            *("bus", 0x028, 32, ro),
            "from bit 0 up: data bits (16), address bits (8), longest burst less one (8)",
        ),
        Register("features", 0x02C, 32, ro, "extensions present, a bit each"),
        Register("instruction_address", 0x030, 64, rw, "address of the program, 16-byte aligned"),
        Register("instruction_count", 0x038, 32, rw, "instructions in the program"),
    ]
    for memory in MemoryId:
        name = f"base_{memory.name.lower()}"
        offset = 0x040 + 8 * memory
        meaning = f"DRAM address of {memory.name} element 0"
        registers.append(Register(name, offset, 64, rw, meaning, memory.needs))
    registers.append(
        Register("par_buffer", 0x078, 32, ro, "log2 of the bytes of PAR", MemoryId.PAR.needs)
    )
    registers.append(Register("cycles", 0x100, 64, ro, "cycles from launch to done (snapshot)"))
    for unit in Unit:
        name = unit.name.lower()
        for column, state in enumerate(State):
            offset = 0x108 + 8 * (3 * unit + column)
            meaning = f"cycles in which {name} {_STATE_TEXTS[state]} (snapshot)"
            registers.append(Register(f"{name}_{state.value}", offset, 64, ro, meaning))
    for unit in Unit:
        name = unit.name.lower()
        base = 0x180 + 8 * unit
        registers += [
            Register(f"{name}_instruction", base, 32, ro, f"index of {name}'s instruction"),
            Register(
                f"{name}_waits", base + 4, 32, ro, "bit 0: for pop_prev, 1: for pop_next, 8: active"
            ),
        ]
    return tuple(registers)


def registers_of(features: frozenset[Feature]) -> tuple[Register, ...]:
    """The registers of a machine with these features, in order of offset."""
    return tuple(register for register in register_map() if register.needs <= features)

"""The map of the control registers on the AXI4-Lite slave.

Offsets are in bytes, registers are 32 bits; a 64-bit value is two registers, low half first.
`hw.rtl.register_file` implements the map and the simulators' drivers use it; the C header, the
SystemRDL and `docs/registers.md` are made from it.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.register_model import (
    WORD_BITS,
    Access,
    Flag,
    Register,
    RegisterField,
    Value,
    checked,
    flag_register,
    packed_register,
    whole_register,
)
from tandem.hw.topology import MemoryId, Unit

MAGIC = 0x544E444D
"""Value of register `magic`: ASCII `TNDM`."""
VERSION = 0x0001_0002
"""Version of this register map: major in the upper half, minor in the lower."""
ADDRESS_BITS = 10
"""Width of the AXI4-Lite addresses."""
BUS_TIMEOUT_BITS = 24
"""Bits of the limit in `bus_timeout`."""
NO_INSTRUCTION = (1 << WORD_BITS) - 1
"""The index that stands for no instruction."""


class Control(Flag):
    """Bits of register `control`; writing 1 triggers the action."""

    LAUNCH = 0, "start the program; refused while one runs or drains"
    SOFT_RESET = (
        1,
        "stop issuing, drain outstanding bus transactions, then reset everything but the memories; "
        "while it drains: give the transactions up",
    )
    SNAPSHOT = 2, "copy all performance counters to their registers, as every end of a launch does"


class Status(Flag):
    """Bits of register `status`."""

    RUNNING = 0, "a program runs"
    DONE = 1, "the last launch ended without a fault; cleared by the next launch"
    ERROR = 2, "the last launch ended with a fault; cleared by the next launch"
    DRAINING = 3, "a stop waits for outstanding bus transactions; until then launches are refused"
    FENCED = (
        4,
        "bus transactions of the last launch were given up; cleared by the next launch, which is "
        "refused until ARESETn if it happened for the fourth time",
    )


class Interrupt(Flag):
    """Causes of the interrupt: the bits of `irq_enable` and `irq_status`."""

    DONE = 0, "a launch ended without a fault"
    ERROR = 1, "a launch ended with a fault"


class Waits(Flag):
    """Bits of the register `waits` of a unit."""

    PREV = 0, "it waits for a token from the unit before it, in the order load, compute, store"
    NEXT = 1, "it waits for a token from the unit after it"
    ACTIVE = 8, "it has an instruction"


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
CONTROL = 0x008


@cache
def register_map() -> tuple[Register, ...]:
    """Every register that a machine can have, in order of offset."""
    registers = (*_launches(), *_identity(), *_bases(), *_counters(), *_units())
    return checked(registers, ADDRESS_BITS)


def registers_of(features: frozenset[Feature]) -> tuple[Register, ...]:
    """The registers of a machine with these features, in order of offset."""
    return tuple(register for register in register_map() if register.needs <= features)


def _launches() -> tuple[Register, ...]:
    """Registers of a launch, its end, and the interrupt."""
    ro, rw, w1 = Access.READ_ONLY, Access.READ_WRITE, Access.WRITE_ONE
    return (
        flag_register("control", CONTROL, w1, "actions; a 1 triggers one", Control),
        flag_register("status", 0x00C, ro, "what the machine does", Status),
        flag_register("irq_enable", 0x010, rw, "causes that raise the interrupt", Interrupt),
        flag_register("irq_status", 0x014, w1, "pending causes; write one to clear", Interrupt),
        whole_register(
            "error_code", 0x018, 32, ro, "why the last launch stopped: one of FAULT", codes=Fault
        ),
        whole_register("error_instruction", 0x01C, 32, ro, "index of the instruction at fault"),
        whole_register(
            "instruction_address", 0x030, 64, rw, "address of the program, 16-byte aligned"
        ),
        whole_register("instruction_count", 0x038, 32, rw, "instructions in the program"),
        Register(
            *("bus_timeout", 0x03C, 32, rw),
            "when a bus that does not answer is a fault",
            (
                RegisterField(
                    *("limit", 0, BUS_TIMEOUT_BITS),
                    "cycles in a row in which the bus owes something and nothing moves; 0: never",
                ),
            ),
        ),
        whole_register(
            *("error_address", 0x080, 64, ro),
            "of BUS_TIMEOUT: the address of the oldest burst that is outstanding",
        ),
    )


def _identity() -> tuple[Register, ...]:
    """Registers that tell a driver which machine it has."""
    features = tuple(
        RegisterField(feature.value, feature.bit, 1, feature.meaning, _has(feature))
        for feature in Feature
    )
    par = MemoryId.PAR.needs
    return (
        whole_register(
            "magic", 0x000, 32, Access.READ_ONLY, "reads as ASCII TNDM", constant=lambda _: MAGIC
        ),
        packed_register(
            *("version", 0x004, "version of this map"),
            (
                (
                    "minor",
                    16,
                    "additions that old drivers need not know",
                    lambda _: VERSION & 0xFFFF,
                ),
                ("major", 16, "changes that old drivers cannot use", lambda _: VERSION >> 16),
            ),
        ),
        packed_register(
            *("shape", 0x020, "shape of the GEMM array"),
            (
                ("log_batch", 8, "log2 of the rows of its input", lambda c: c.log_batch),
                ("log_block_in", 8, "log2 of its input channels", lambda c: c.log_block_in),
                ("log_block_out", 8, "log2 of its output channels", lambda c: c.log_block_out),
            ),
        ),
        packed_register(
            *("buffers", 0x024, "sizes of the on-chip memories"),
            (
                ("log_uop", 8, "log2 of the bytes of UOP", lambda c: c.log_uop_buffer),
                ("log_inp", 8, "log2 of the bytes of INP", lambda c: c.log_inp_buffer),
                ("log_wgt", 8, "log2 of the bytes of WGT", lambda c: c.log_wgt_buffer),
                ("log_acc", 8, "log2 of the bytes of ACC", lambda c: c.log_acc_buffer),
            ),
        ),
        packed_register(
            *("bus", 0x028, "widths of the AXI4 master"),
            (
                ("data_bits", 16, "bits of a beat", lambda c: c.bus_bits),
                ("address_bits", 8, "bits of an address", lambda c: c.address_bits),
                (
                    "longest",
                    8,
                    "beats of the longest burst, less one",
                    lambda c: c.longest_burst - 1,
                ),
            ),
        ),
        Register(
            *("features", 0x02C, 32, Access.READ_ONLY),
            "extensions of the instruction set that are present",
            features,
        ),
        whole_register(
            *("par_buffer", 0x078, 32, Access.READ_ONLY, "log2 of the bytes of PAR", par),
            constant=lambda config: config.log_par_buffer,
        ),
    )


def _has(feature: Feature) -> Value:
    return lambda config: int(feature in config.features)


def _bases() -> tuple[Register, ...]:
    return tuple(
        whole_register(
            *(f"base_{memory.name.lower()}", 0x040 + 8 * memory, 64, Access.READ_WRITE),
            f"DRAM address of {memory.name} element 0",
            memory.needs,
        )
        for memory in MemoryId
        if memory.base is memory
    )


def _counters() -> tuple[Register, ...]:
    meanings = {"cycles": "cycles from launch to done (snapshot)"}
    for unit in Unit:
        for state in State:
            says = f"cycles in which {unit.name.lower()} {_STATE_TEXTS[state]} (snapshot)"
            meanings[f"{unit.name.lower()}_{state.value}"] = says
    return tuple(
        whole_register(name, 0x100 + 8 * number, 64, Access.READ_ONLY, meaning)
        for number, (name, meaning) in enumerate(meanings.items())
    )


def _units() -> tuple[Register, ...]:
    """What each unit does; of a machine that has stopped: what it waited for."""
    registers = []
    for unit in Unit:
        name, base, ro = unit.name.lower(), 0x180 + 8 * unit, Access.READ_ONLY
        registers += [
            whole_register(
                *(f"{name}_instruction", base, 32, ro, f"index of {name}'s instruction"),
                reset=NO_INSTRUCTION,
            ),
            flag_register(f"{name}_waits", base + 4, ro, f"what {name} waits for", Waits),
        ]
    return tuple(registers)

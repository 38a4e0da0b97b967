"""Writes the control registers as a C header for drivers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import IntEnum, IntFlag

from hw.config import HardwareConfig
from hw.faults import Fault
from hw.registers import MAGIC, VERSION, Control, Register, Status, registers_of

GUARD = "TANDEM_REGISTERS_H"


def c_header(config: HardwareConfig) -> str:
    """The register map and the sizes of `config` as `#define`s.

    Offsets are in bytes. A 64-bit register is two of 32 bits: `NAME` holds the low half and
    `NAME_HIGH` the high one.
    """
    lines = [
        "/* Registers of the Tandem accelerator. Generated; do not edit. */",
        f"#ifndef {GUARD}",
        f"#define {GUARD}",
        "",
        _define("MAGIC_VALUE", f"0x{MAGIC:08X}u", "what register magic reads as"),
        _define("VERSION_VALUE", f"0x{VERSION:08X}u", "version of this map"),
        "",
        "/* Offsets of the registers, in bytes.",
        " * ro: read only; rw: read and write; w1: each one written acts. */",
        "",
        *(line for register in registers_of(config.features) for line in _offsets(register)),
        "",
        *_codes("CONTROL", "Bits of control", Control),
        *_codes("STATUS", "Bits of status", Status),
        *_codes("FAULT", "Values of error_code", Fault),
        "/* This configuration */",
        *_sizes(config),
        "",
        f"#endif /* {GUARD} */",
        "",
    ]
    return "\n".join(lines)


def _define(name: str, value: str, meaning: str = "") -> str:
    line = f"#define TANDEM_{name:<28} {value}"
    return f"{line:<52} /* {meaning} */" if meaning else line


def _offsets(register: Register) -> Iterator[str]:
    name = register.name.upper()
    yield f"/* {register.access.value}: {register.meaning} */"
    yield _define(name, f"0x{register.offset:03X}u")
    if register.bits == 64:
        yield _define(f"{name}_HIGH", f"0x{register.offset + 4:03X}u")


def _codes(prefix: str, title: str, codes: type[IntEnum] | type[IntFlag]) -> Iterator[str]:
    yield f"/* {title} */"
    for code in codes:
        yield _define(f"{prefix}_{code.name}", f"{code.value}u")
    yield ""


def _sizes(config: HardwareConfig) -> Iterator[str]:
    yield _define("CONFIGURATION", json.dumps(config.name))
    yield _define("BATCH", f"{config.batch}u", "rows of the array's input")
    yield _define("BLOCK_IN", f"{config.block_in}u", "input channels of a micro-op")
    yield _define("BLOCK_OUT", f"{config.block_out}u", "output channels of a micro-op")
    yield _define("BUS_BYTES", f"{config.bus_bytes}u", "bytes in a beat of the bus")
    for memory in config.memories:
        size, depth = config.element_bytes(memory), config.depth(memory)
        yield _define(f"{memory.name}_ELEMENT_BYTES", f"{size}u")
        yield _define(f"{memory.name}_DEPTH", f"{depth}u", "elements")

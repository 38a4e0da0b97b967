"""Writes the control registers as a C header for drivers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import IntEnum
from textwrap import wrap

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.register_model import Flag, Register
from tandem.hw.registers import (
    MAGIC,
    NO_INSTRUCTION,
    VERSION,
    Control,
    Interrupt,
    Status,
    Waits,
    registers_of,
)
from tandem.hw.topology import MemoryId

GUARD = "TANDEM_REGISTERS_H"
_WIDTH = 100


def c_header(config: HardwareConfig) -> str:
    """The register map and the sizes of `config` as `#define`s.

    Offsets are in bytes. A 64-bit register is two of 32 bits: `NAME` holds the low half and
    `NAME_HIGH` the high one. A field of a register has `NAME_FIELD_SHIFT` and `NAME_FIELD_MASK`,
    which is the mask in its place.
    """
    lines = [
        "/* Registers of the Tandem accelerator. Generated; do not edit. */",
        f"#ifndef {GUARD}",
        f"#define {GUARD}",
        "",
        _define("MAGIC_VALUE", f"0x{MAGIC:08X}u", "what register magic reads as"),
        _define("VERSION_VALUE", f"0x{VERSION:08X}u", "version of this map"),
        _define("NO_INSTRUCTION", f"0x{NO_INSTRUCTION:08X}u", "index of no instruction"),
        "",
        "/* Offsets of the registers, in bytes, and their fields.",
        " * ro: read only; rw: read and write; w1: each one written acts. */",
        "",
        *(line for register in registers_of(config.features) for line in _offsets(register)),
        "",
        *_bits("CONTROL", "Bits of control", Control),
        *_bits("STATUS", "Bits of status", Status),
        *_bits("INTERRUPT", "Bits of irq_enable and irq_status", Interrupt),
        *_bits("WAITS", "Bits of load_waits, compute_waits and store_waits", Waits),
        *_features(),
        *_codes("FAULT", "Values of error_code", Fault),
        "/* This configuration */",
        *_sizes(config),
        "",
        f"#endif /* {GUARD} */",
        "",
    ]
    return "\n".join(lines)


def _define(name: str, value: str, meaning: str = "") -> str:
    line = f"#define TANDEM_{name:<30} {value}"
    if not meaning:
        return line
    whole = f"{line:<54} /* {meaning} */"
    return whole if len(whole) <= _WIDTH else f"{_comment(meaning)}\n{line}"


def _comment(text: str) -> str:
    lines = wrap(text, _WIDTH - len("/*  */"))
    return "/* " + "\n * ".join(lines) + " */"


def _offsets(register: Register) -> Iterator[str]:
    yield _comment(f"{register.access.value}: {register.meaning}")
    for name, offset, _ in register.words:
        yield _define(name.upper(), f"0x{offset:03X}u")
    if not register.whole:
        for field in register.fields:
            name = f"{register.name}_{field.name}".upper()
            # What single bits mean is said with their names, below.
            says = field.meaning if field.width > 1 else ""
            yield _define(f"{name}_SHIFT", f"{field.lsb}u", says)
            yield _define(f"{name}_MASK", f"0x{field.mask:X}u")


def _bits(prefix: str, title: str, flags: type[Flag]) -> Iterator[str]:
    yield f"/* {title} */"
    for flag in flags:
        yield _define(f"{prefix}_{flag.name}", f"{flag.value}u", flag.meaning)
    yield ""


def _features() -> Iterator[str]:
    yield "/* Bits of features: extensions of the instruction set */"
    for feature in Feature:
        yield _define(f"FEATURE_{feature.name}", f"{1 << feature.bit}u", feature.meaning)
    yield ""


def _codes(prefix: str, title: str, codes: type[IntEnum]) -> Iterator[str]:
    yield f"/* {title} */"
    for code in codes:
        yield _define(f"{prefix}_{code.name}", f"{code.value}u", getattr(code, "meaning", ""))
    yield ""


def _sizes(config: HardwareConfig) -> Iterator[str]:
    yield _define("CONFIGURATION", json.dumps(config.name))
    yield _define("BATCH", f"{config.batch}u", "rows of the array's input")
    yield _define("BLOCK_IN", f"{config.block_in}u", "input channels of a micro-op")
    yield _define("BLOCK_OUT", f"{config.block_out}u", "output channels of a micro-op")
    yield _define("BUS_BYTES", f"{config.bus_bytes}u", "bytes in a beat of the bus")
    for memory in config.memories:
        size, depth = config.element_bytes(memory), config.depth(memory)
        if memory is MemoryId.WGT_CODES:
            for coding in Coding:
                size = config.element_bytes(memory, coding)
                yield _define(f"{memory.name}_{coding.name}_ELEMENT_BYTES", f"{size}u")
            continue
        yield _define(f"{memory.name}_ELEMENT_BYTES", f"{size}u")
        yield _define(f"{memory.name}_DEPTH", f"{depth}u", "elements")

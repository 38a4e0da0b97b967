"""Writes the control registers as SystemRDL 2.0 (Accellera), from which tools make documents, C
headers, IP-XACT and register models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import IntEnum

from tandem.hw.config import HardwareConfig
from tandem.hw.register_model import WORD_BITS, WORD_BYTES, Access, Register, RegisterField
from tandem.hw.registers import registers_of

TOP = "tandem"
"""Name of the address map."""


def system_rdl(config: HardwareConfig) -> str:
    """The register map of `config`. A 64-bit register is two of 32 bits, as on the bus: `name` with
    the low half and `name_high`."""
    registers = registers_of(config.features)
    codes = dict.fromkeys(
        field.codes for register in registers for field in register.fields if field.codes
    )
    lines = [
        "// Registers of the Tandem accelerator. Generated; do not edit.",
        *(line for enum in codes if enum for line in _enum(enum)),
        f"addrmap {TOP} {{",
        '    name = "Tandem";',
        f"    desc = {_text(f'Control registers of the Tandem accelerator {config.name}.')};",
        "    default regwidth = 32;",
        "    default accesswidth = 32;",
        "    littleendian;",
        *(line for register in registers for line in _register(register, config)),
        "};",
    ]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """A string literal: printable ASCII, which is what names and meanings are."""
    return json.dumps(text)


def _enum(codes: type[IntEnum]) -> Iterator[str]:
    width = max(codes).bit_length()
    yield f"enum {codes.__name__} {{"
    for code in codes:
        meaning = _text(getattr(code, "meaning", ""))
        yield f"    {code.name} = {width}'d{code.value} {{ desc = {meaning}; }};"
    yield "};"


def _register(register: Register, config: HardwareConfig) -> Iterator[str]:
    for name, offset, lsb in register.words:
        yield "    reg {"
        yield f"        desc = {_text(_sentence(register, lsb))};"
        for field in register.fields:
            if lsb <= field.lsb < lsb + WORD_BITS or register.whole:
                yield from _field(field, register, lsb, config)
        yield f"    }} {name} @ {offset:#05x};"


def _sentence(register: Register, lsb: int) -> str:
    halves = {0: "low half", WORD_BITS: "high half"}
    half = f" ({halves[lsb]})" if register.bits > WORD_BITS else ""
    return f"{register.meaning}{half}"


def _field(
    field: RegisterField, register: Register, lsb: int, config: HardwareConfig
) -> Iterator[str]:
    low = max(field.lsb - lsb, 0)
    high = min(field.lsb + field.width - lsb, 8 * WORD_BYTES) - 1
    value = field.reset if field.constant is None else field.constant(config)
    reset = value >> (lsb if register.whole else 0) & ((1 << (high - low + 1)) - 1)
    yield "        field {"
    yield f"            desc = {_text(field.meaning)};"
    match register.access:
        case Access.READ_ONLY:
            hardware = "na" if field.constant is not None else "w"
            yield f"            sw = r; hw = {hardware};"
        case Access.READ_WRITE:
            yield "            sw = rw; hw = r;"
        case Access.WRITE_ONE if register.name.endswith("_status"):
            yield "            sw = rw; hw = rw; onwrite = woclr; hwset;"
        case Access.WRITE_ONE:
            yield "            sw = rw; hw = r; singlepulse;"
    if field.codes is not None:
        yield f"            encode = {field.codes.__name__};"
    yield f"        }} {field.name}[{high}:{low}] = {high - low + 1}'h{reset:x};"

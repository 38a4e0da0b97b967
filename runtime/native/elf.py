"""Relocatable object files in the ELF format, of 32 or 64 bits, little-endian, as LLVM writes them.

Source: System V Application Binary Interface, "Object Files" (sections, symbols, relocations with
addends). No tool is needed to read one, so that native code is loaded without LLVM.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tandem.runtime.errors import NativeCodeError

_IDENTITY: Final = struct.Struct("<4sBBB9x")
_RELOCATABLE: Final = 1
_PROGRAM, _NO_BITS, _WITH_ADDENDS, _IN_PLACE, _SYMBOLS = 1, 8, 4, 9, 2
_WRITE, _ALLOCATE, _EXECUTE = 1, 2, 4
_UNDEFINED, _RESERVED, _ABSOLUTE = 0, 0xFF00, 0xFFF1

X86_64: Final = 62
"""The number of the architecture x86-64 (`e_machine`)."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the tables of a file lie in it.

    Attributes
    ----------
    symbol
        With a table of symbols, `symbol_fields` says where name, section and value are.
    relocation, in_place
        Of relocations with an addend, and of those whose addend lies where they are applied.
    kind_bits
        The bits of a relocation's information that are its kind; the others number the symbol.
    """

    header: struct.Struct
    section: struct.Struct
    symbol: struct.Struct
    symbol_fields: tuple[int, int, int]
    relocation: struct.Struct
    in_place: struct.Struct
    kind_bits: int


_LAYOUTS: Final = {
    1: _Layout(
        struct.Struct("<HHIIIIIHHHHHH"),
        struct.Struct("<IIIIIIIIII"),
        struct.Struct("<IIIBBH"),
        (0, 5, 1),
        struct.Struct("<IIi"),
        struct.Struct("<II"),
        8,
    ),
    2: _Layout(
        struct.Struct("<HHIQQQIHHHHHH"),
        struct.Struct("<IIQQQQIIQQ"),
        struct.Struct("<IBBHQQ"),
        (0, 3, 4),
        struct.Struct("<QQq"),
        struct.Struct("<QQ"),
        32,
    ),
}
"""By the class of a file (`ei_class`): of 32 and of 64 bits."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section that takes memory when the code is loaded.

    Attributes
    ----------
    content
        Its bytes; zeros for a section that the file does not hold.
    alignment
        Bytes: its address is a multiple.
    writable, executable
        What may be done with it beside reading.
    """

    content: bytes
    alignment: int
    writable: bool
    executable: bool


@dataclass(frozen=True, slots=True)
class Symbol:
    """A place in a section, or one that the process has to provide.

    `section` is the index of the section, None for what is defined elsewhere; `offset` counts from
    the section's begin.
    """

    name: str
    section: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """An address to be written into a section, in a form that `kind` says.

    Attributes
    ----------
    section, offset
        Where it is written.
    kind
        The architecture's number of the form.
    symbol, addend
        What is written: the symbol's address and a number; 0 where the number lies in the section
        already, as on ARM.
    """

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """An object file.

    Attributes
    ----------
    machine
        The number of the architecture.
    sections
        The sections that take memory, by their index in the file.
    symbols
        The symbols that have a name and a section, by name.
    relocations
        The relocations of these sections.
    """

    machine: int
    sections: dict[int, Section]
    symbols: dict[str, Symbol]
    relocations: tuple[Relocation, ...]


@dataclass(frozen=True, slots=True)
class _Header:
    """A row of the table of sections."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int

    def within(self, data: bytes) -> bytes:
        if self.offset + self.size > len(data):
            raise NativeCodeError("a section of the object file is cut off")
        return data[self.offset : self.offset + self.size]


def parse_object(data: bytes) -> ObjectFile:
    """The object file in `data`.

    Raises
    ------
    NativeCodeError
        It is no relocatable ELF file, little-endian, or it is damaged.
    """
    try:
        return _parsed(data)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise NativeCodeError(f"the object file is damaged: {error}") from None


def _parsed(data: bytes) -> ObjectFile:
    magic, bits, order, _ = _IDENTITY.unpack_from(data)
    layout = _LAYOUTS.get(bits)
    if magic != b"\x7fELF" or order != 1 or layout is None:
        raise NativeCodeError("this is no relocatable ELF file, little-endian")
    kind, machine, *rest = layout.header.unpack_from(data, _IDENTITY.size)
    if kind != _RELOCATABLE:
        raise NativeCodeError("this is no relocatable ELF file")
    start, size, count = rest[3], rest[8], rest[9]
    headers = [_Header(*layout.section.unpack_from(data, start + at * size)) for at in range(count)]
    sections = {
        number: _section(header, data)
        for number, header in enumerate(headers)
        if header.flags & _ALLOCATE and header.size
    }
    tables = [number for number, header in enumerate(headers) if header.kind == _SYMBOLS]
    symbols = {number: _symbols(headers, number, data, layout) for number in tables}
    relocations = tuple(
        relocation
        for header in headers
        if header.kind in (_WITH_ADDENDS, _IN_PLACE) and header.info in sections
        for relocation in _relocations(header, data, layout, symbols[header.link])
    )
    named = {
        symbol.name: symbol
        for table in symbols.values()
        for symbol in table
        if symbol.name and symbol.section is not None
    }
    return ObjectFile(machine, sections, named, relocations)


def _section(header: _Header, data: bytes) -> Section:
    content = bytes(header.size) if header.kind == _NO_BITS else header.within(data)
    writable, executable = bool(header.flags & _WRITE), bool(header.flags & _EXECUTE)
    return Section(content, max(header.alignment, 1), writable, executable)


def _symbols(headers: list[_Header], number: int, data: bytes, layout: _Layout) -> list[Symbol]:
    table = headers[number]
    names = headers[table.link].within(data)
    found = []
    for row in layout.symbol.iter_unpack(table.within(data)):
        name, section, value = (row[field] for field in layout.symbol_fields)
        text = names[name : names.index(b"\0", name)].decode()
        if section >= _RESERVED and section != _ABSOLUTE:
            raise NativeCodeError(f"the symbol {text} of the object file has no section of its own")
        at = None if section in (_UNDEFINED, _ABSOLUTE) else section
        found.append(Symbol(text, at, value))
    return found


def _relocations(
    header: _Header, data: bytes, layout: _Layout, symbols: list[Symbol]
) -> Iterator[Relocation]:
    in_place = header.kind == _IN_PLACE
    form = layout.in_place if in_place else layout.relocation
    for offset, info, *addend in form.iter_unpack(header.within(data)):
        number, kind = divmod(info, 1 << layout.kind_bits)
        yield Relocation(header.info, offset, kind, symbols[number], 0 if in_place else addend[0])

"""Relocatable object files in the ELF format, of 64 bits, little-endian, as LLVM writes them.

Source: System V Application Binary Interface, "Object Files" (sections, symbols, relocations with
addends). No tool is needed to read one, so that native code is loaded without LLVM.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from tandem.runtime.errors import NativeCodeError

_HEADER: Final = struct.Struct("<4sBBB9xHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQq")
_RELOCATABLE: Final = 1
_PROGRAM, _NO_BITS, _RELOCATIONS, _SYMBOLS = 1, 8, 4, 2
_WRITE, _ALLOCATE, _EXECUTE = 1, 2, 4
_UNDEFINED, _RESERVED, _ABSOLUTE = 0, 0xFF00, 0xFFF1

X86_64: Final = 62
"""The number of the architecture x86-64 (`e_machine`)."""


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
        What is written: the symbol's address and a number.
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
        It is no relocatable ELF file of 64 bits, or it is damaged.
    """
    try:
        return _parsed(data)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise NativeCodeError(f"the object file is damaged: {error}") from None


def _parsed(data: bytes) -> ObjectFile:
    magic, bits, order, _, kind, machine, *rest = _HEADER.unpack_from(data)
    if (magic, bits, order, kind) != (b"\x7fELF", 2, 1, _RELOCATABLE):
        raise NativeCodeError("this is no relocatable ELF file of 64 bits, little-endian")
    start, size, count = rest[3], rest[8], rest[9]
    headers = [_Header(*_SECTION.unpack_from(data, start + at * size)) for at in range(count)]
    sections = {
        number: _section(header, data)
        for number, header in enumerate(headers)
        if header.flags & _ALLOCATE and header.size
    }
    tables = [number for number, header in enumerate(headers) if header.kind == _SYMBOLS]
    symbols = {number: _symbols(headers, number, data) for number in tables}
    # A relocation's information is the number of its symbol, and its kind.
    relocations = tuple(
        Relocation(header.info, offset, info % (1 << 32), symbols[header.link][info >> 32], addend)
        for header in headers
        if header.kind == _RELOCATIONS and header.info in sections
        for offset, info, addend in _RELOCATION.iter_unpack(header.within(data))
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


def _symbols(headers: list[_Header], number: int, data: bytes) -> list[Symbol]:
    table = headers[number]
    names = headers[table.link].within(data)
    found = []
    for name, _, _, section, value, _ in _SYMBOL.iter_unpack(table.within(data)):
        text = names[name : names.index(b"\0", name)].decode()
        if section >= _RESERVED and section != _ABSOLUTE:
            raise NativeCodeError(f"the symbol {text} of the object file has no section of its own")
        at = None if section in (_UNDEFINED, _ABSOLUTE) else section
        found.append(Symbol(text, at, value))
    return found

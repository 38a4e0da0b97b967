"""Links an object file into this process, without LLVM.

Sections are copied into memory of their own, grouped by what may be done with them: code is not
writable, and data cannot be executed. Functions that the code calls, such as `memcpy`, are found
where the system's loader finds them.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.elf import X86_64, ObjectFile, Section, Symbol, parse_object
from tandem.runtime.native.x86_64 import STUB_BYTES, TABLES, relocated, stub

_PAGE: Final = mmap.PAGESIZE
_READ, _WRITE, _EXECUTE = 1, 2, 4
"""Bits of `mprotect`."""


@dataclass(frozen=True, slots=True)
class LinkedCode:
    """Code in this process, which stays there as long as this object.

    `addresses` are those of the symbols that were asked for, by name.
    """

    addresses: dict[str, int]
    memory: Any


def can_link(machine: str) -> bool:
    """Whether this module links code of an architecture, as the first part of a triple names it."""
    return machine == "x86_64"


def link(code: bytes, wanted: Sequence[str]) -> LinkedCode:
    """The object file `code` in this process.

    Raises
    ------
    NativeCodeError
        The file is damaged, of another architecture, or lacks a symbol that is wanted; a function
        that it calls is not in this process; there is no memory for it.
    """
    parsed = parse_object(code)
    if parsed.machine != X86_64:
        raise NativeCodeError(f"the object file is of architecture {parsed.machine}, not x86-64")
    indirect = _indirect(parsed)
    places, ends = _placed(parsed.sections, len(indirect) * STUB_BYTES)
    memory = _Memory(ends[-1])

    def address(symbol: Symbol) -> int:
        if symbol.section is None:
            return _address_in_process(symbol.name)
        if symbol.section not in places:
            raise NativeCodeError(f"{symbol.name} of the object file is in no section with bytes")
        return memory.start + places[symbol.section] + symbol.offset

    for number, section in parsed.sections.items():
        memory.write(places[number], section.content)
    # Stubs begin the code's pages.
    stubs = {symbol: memory.start + at * STUB_BYTES for at, symbol in enumerate(indirect)}
    for at, symbol in enumerate(indirect):
        memory.write(at * STUB_BYTES, stub(address(symbol)))
    for relocation in parsed.relocations:
        offset = places[relocation.section] + relocation.offset
        target = address(relocation.symbol)
        jump = stubs.get(relocation.symbol, target)
        place = memory.start + offset
        memory.write(offset, relocated(relocation.kind, place, target, jump, relocation.addend))
    memory.protect(ends)
    missing = [name for name in wanted if name not in parsed.symbols]
    if missing:
        raise NativeCodeError(f"the object file has no symbol {missing[0]}")
    return LinkedCode({name: address(parsed.symbols[name]) for name in wanted}, memory)


def _indirect(parsed: ObjectFile) -> list[Symbol]:
    """The symbols that need a stub: those of the process, which may be far away, and those whose
    address the code takes from a table."""
    return [
        *dict.fromkeys(
            relocation.symbol
            for relocation in parsed.relocations
            if relocation.symbol.section is None or relocation.kind in TABLES
        )
    ]


@cache
def _address_in_process(name: str) -> int:
    try:
        function = getattr(ctypes.CDLL(None), name)
    except AttributeError:
        raise NativeCodeError(f"the code calls {name}, which this process does not have") from None
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _placed(sections: dict[int, Section], stub_bytes: int) -> tuple[dict[int, int], list[int]]:
    """Offsets of sections, and the ends of code, of constants and of data, each whole pages."""
    places: dict[int, int] = {}
    ends = []
    end = stub_bytes
    for executable, writable in ((True, False), (False, False), (False, True)):
        for number, section in sections.items():
            if (section.executable, section.writable) == (executable, writable):
                end = -(-end // section.alignment) * section.alignment
                places[number] = end
                end += len(section.content)
        end = -(-end // _PAGE) * _PAGE
        ends.append(end)
    if len(places) < len(sections):
        raise NativeCodeError("the object file has code that writes itself")
    return places, ends


class _Memory:
    """Pages of this process, which are given back with this object."""

    def __init__(self, size: int) -> None:
        try:
            self._pages = mmap.mmap(-1, max(size, _PAGE), prot=_READ | _WRITE)
        except (OSError, ValueError) as error:
            raise NativeCodeError(f"no memory for {size} bytes of code: {error}") from None
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))

    def write(self, offset: int, data: bytes) -> None:
        """Write before `protect`."""
        if offset + len(data) > len(self._pages):
            raise NativeCodeError("a relocation of the object file is outside its section")
        self._pages[offset : offset + len(data)] = data

    def protect(self, ends: list[int]) -> None:
        """Let the first part be executed, the second be read, and the third be written."""
        begin = 0
        for end, protection in zip(ends, (_READ | _EXECUTE, _READ, _READ | _WRITE), strict=True):
            if end > begin:
                self._set(begin, end - begin, protection)
            begin = end

    def _set(self, offset: int, size: int, protection: int) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        address = ctypes.c_void_p(self.start + offset)
        if library.mprotect(address, ctypes.c_size_t(size), protection):
            raise NativeCodeError(
                f"this system lets no code be loaded (mprotect: error {ctypes.get_errno()})"
            )

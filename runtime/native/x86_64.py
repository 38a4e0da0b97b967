"""Relocations of x86-64: how the address of a symbol is written into code.

Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement, table 4.9.
S is the symbol's address, A the addend, P the place that is written, L a stub that jumps to the
symbol, G an address table's entry.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, assert_never

from tandem.runtime.errors import NativeCodeError

STUB_BYTES: Final = 16
"""Bytes of a stub."""
_JUMP: Final = b"\xff\x25\x02\x00\x00\x00\x90\x90"
"""`jmp` to the address that follows, and two `nop`."""


class Relocations(IntEnum):
    """The relocations of position-independent code of the small model."""

    R64 = 1
    """S + A, 8 bytes"""
    PC32 = 2
    """S + A - P, 4 bytes"""
    PLT32 = 4
    """L + A - P, 4 bytes"""
    GOTPCREL = 9
    """G + A - P, 4 bytes"""
    PC64 = 24
    """S + A - P, 8 bytes"""
    GOTPCRELX = 41
    """G + A - P, 4 bytes"""
    REX_GOTPCRELX = 42
    """G + A - P, 4 bytes"""


TABLES: Final = frozenset({Relocations.GOTPCREL, Relocations.GOTPCRELX, Relocations.REX_GOTPCRELX})
"""The relocations that take a symbol's address from a table."""


def stub(address: int) -> bytes:
    """Code that jumps to an address; its last 8 bytes are the address, as in an address table."""
    return _JUMP + struct.pack("<Q", address)


def relocated(kind: int, place: int, symbol: int, stub: int, addend: int) -> bytes:
    """The bytes that are written at the address `place`.

    Parameters
    ----------
    symbol, stub
        The addresses of the symbol and of a stub that jumps to it.

    Raises
    ------
    NativeCodeError
        A relocation of another kind, or an address that does not fit.
    """
    try:
        relocation = Relocations(kind)
    except ValueError:
        raise NativeCodeError(
            f"relocation {kind} of x86-64 is none of position-independent code: "
            f"{', '.join(each.name for each in Relocations)}"
        ) from None
    match relocation:
        case Relocations.R64:
            return struct.pack("<q", symbol + addend)
        case Relocations.PC64:
            return struct.pack("<q", symbol + addend - place)
        case Relocations.PC32:
            distance = symbol + addend - place
        case Relocations.PLT32:
            distance = stub + addend - place
        case Relocations.GOTPCREL | Relocations.GOTPCRELX | Relocations.REX_GOTPCRELX:
            distance = stub + len(_JUMP) + addend - place
        case _:
            assert_never(relocation)
    if not -(1 << 31) <= distance < 1 << 31:
        raise NativeCodeError(f"relocation {relocation.name} over {distance} bytes: 2 GB is most")
    return struct.pack("<i", distance)

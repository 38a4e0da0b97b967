"""Relocations of x86-64, by the formulas of its ABI."""

from __future__ import annotations

import struct

import pytest

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.x86_64 import STUB_BYTES, TABLES, relocated, stub

PLACE, SYMBOL, STUB, ADDEND = 0x5000, 0x9000, 0x4000, -4
TABLE = STUB + 8
"""Behind the eight bytes of a jump."""


def test_a_stub_is_a_jump_by_the_address_behind_it() -> None:
    found = stub(0x1122334455667788)
    assert len(found) == STUB_BYTES
    # `jmp [rip + 2]`: the next instruction is at 6, the address at 8.
    assert found[:2] == b"\xff\x25"
    assert 6 + struct.unpack("<i", found[2:6])[0] == 8
    assert struct.unpack("<Q", found[8:]) == (0x1122334455667788,)


@pytest.mark.parametrize(
    ("kind", "form", "wanted"),
    [
        (1, "<q", SYMBOL + ADDEND),
        (24, "<q", SYMBOL + ADDEND - PLACE),
        (2, "<i", SYMBOL + ADDEND - PLACE),
        (4, "<i", STUB + ADDEND - PLACE),
        (9, "<i", TABLE + ADDEND - PLACE),
        (41, "<i", TABLE + ADDEND - PLACE),
        (42, "<i", TABLE + ADDEND - PLACE),
    ],
)
def test_relocations(kind: int, form: str, wanted: int) -> None:
    assert relocated(kind, PLACE, SYMBOL, STUB, ADDEND) == struct.pack(form, wanted)
    assert (kind in TABLES) == (kind in (9, 41, 42))


@pytest.mark.parametrize("distance", [-(1 << 31), (1 << 31) - 1])
def test_the_farthest_places(distance: int) -> None:
    place = 1 << 40
    assert relocated(2, place, place + distance, 0, 0) == struct.pack("<i", distance)
    further = distance + (1 if distance > 0 else -1)
    with pytest.raises(NativeCodeError, match=f"PC32 over {further} bytes: 2 GB is most"):
        relocated(2, place, place + further, 0, 0)
    # Eight bytes reach everything.
    assert relocated(24, place, place + further, 0, 0) == struct.pack("<q", further)


def test_other_kinds() -> None:
    with pytest.raises(NativeCodeError, match="relocation 3 of x86-64 is none of position-indep"):
        relocated(3, PLACE, SYMBOL, STUB, ADDEND)

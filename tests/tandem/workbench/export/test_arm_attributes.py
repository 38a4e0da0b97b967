"""The attribute of ARM's object files, in sections written by hand.

The format: ARM's "Addenda to, and Errata in, the ABI for the Arm Architecture", build attributes.
"""

from __future__ import annotations

import pytest

from tandem.workbench.export.arm_attributes import for_any_convention

R9_USE, FLOAT_ARGUMENTS = b"\x0e\x00", b"\x1c\x03"
BEFORE = {
    "nothing": b"",
    "a number": b"\x06\x0d",
    "a long number": b"\x06\x8e\x80\x01",
    "a text": b"\x05cortex\x0e\x00",
    "a raw text": b"\x04\x0e\x00",
    "a compatibility": b"\x20\x8e\x01gnu\x00",
    "an odd tag of many": b"\x43\x32\x2e\x30\x39\x00",
    "an even tag of many": b"\x44\x01",
    "an odd tag of few": b"\x09\x02",
}


def section(attributes: bytes) -> bytes:
    """A section of one vendor, with the attributes of a file, and what an object has before it."""
    file = b"\x01" + (5 + len(attributes)).to_bytes(4, "little") + attributes
    vendor = b"aeabi\0" + file
    return b"\x7fELF\x0e\x00A" + (4 + len(vendor)).to_bytes(4, "little") + vendor


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("behind", [b"", b"\x0e\x00", b"\x19\x01"])
def test_it_takes_the_place_of_the_first_with_its_default(before: bytes, behind: bytes) -> None:
    found = for_any_convention(section(before + R9_USE + behind))
    assert found == section(before + FLOAT_ARGUMENTS + behind)


@pytest.mark.parametrize("attributes", [*BEFORE.values(), b"\x0e\x01", b"\x0e\x01\x06\x0d"])
def test_other_files_stay(attributes: bytes) -> None:
    """Whatever lies behind the attributes."""
    data = section(attributes) + R9_USE + b"\x06\x0d" + R9_USE
    assert for_any_convention(data) == data

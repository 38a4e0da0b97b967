"""Attributes of object files for ARM: which calling conventions a file can be linked with.

Source: Addenda to, and Errata in, the ABI for the Arm Architecture, "Build attributes".
"""

from __future__ import annotations

from typing import Final

MACHINE: Final = 40
"""The number of the architecture (`e_machine`)."""
_R9_USE, _FLOAT_ARGUMENTS, _COMPATIBLE = 14, 28, 3
_RAW_NAME, _NAME, _COMPATIBILITY = 4, 5, 32
_BEGIN: Final = b"aeabi\0"
_HEAD: Final = 5
"""Bytes before the attributes of a file: a tag and their size."""


def for_any_convention(data: bytes) -> bytes:
    """An object file in which no float is passed, said to be so: it can be linked with files that
    pass floats in registers of either kind.

    The attribute takes the place of one with its default value; a file without that stays.
    """
    begin = data.find(_BEGIN) + len(_BEGIN)
    if begin < len(_BEGIN):
        return data
    at, end = begin + _HEAD, begin + int.from_bytes(data[begin + 1 : begin + _HEAD], "little")
    while at < min(end, len(data) - 1):
        if data[at : at + 2] == bytes([_R9_USE, 0]):
            return data[:at] + bytes([_FLOAT_ARGUMENTS, _COMPATIBLE]) + data[at + 2 :]
        at = _after_attribute(data, at)
    return data


def _after_attribute(data: bytes, at: int) -> int:
    """Where the attribute ends that begins at `at`: a tag, then a number or a text."""
    tag = data[at]
    at = _after_number(data, at)
    if tag == _COMPATIBILITY:
        at = _after_number(data, at)
    is_text = tag in (_RAW_NAME, _NAME, _COMPATIBILITY) or (tag > _COMPATIBILITY and tag % 2 == 1)
    return data.index(b"\0", at) + 1 if is_text else _after_number(data, at)


def _after_number(data: bytes, at: int) -> int:
    while data[at] >= 0x80:
        at += 1
    return at + 1

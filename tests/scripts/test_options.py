"""Numbers that options take: written in several ways, and refused beyond their limits."""

from __future__ import annotations

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from tandem.scripts.options import parse_byte, parse_number


@given(st.integers(0, 1 << 70))
def test_numbers_are_decimal_or_have_a_prefix(value: int) -> None:
    assert parse_number(str(value)) == parse_number(hex(value)) == value
    assert parse_number(f"{value:#b}") == value


@pytest.mark.parametrize("text", ["-1", "-0x1", "", "x", "1.5", "0y1", "ff"])
def test_no_numbers(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no number of 0 or more, such as 4096 or 0x1"):
        parse_number(text)


def test_bytes_are_hexadecimal() -> None:
    for value in range(256):
        assert parse_byte(f"{value:x}") == parse_byte(f"{value:#04x}") == value


@pytest.mark.parametrize("text", ["-1", "100", "0x100", "", "g", "1.0"])
def test_no_bytes(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"is no byte in hexadecimal, 00\.\.ff"):
        parse_byte(text)

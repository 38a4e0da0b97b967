"""`hw.register_model`: registers, their words, and maps that are refused."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import RegisterMapError
from tandem.hw.register_model import (
    Access,
    Flag,
    Register,
    RegisterField,
    checked,
    flag_register,
    packed_register,
    whole_register,
)

ADDRESS_BITS = 6
RO = Access.READ_ONLY


class Lamp(Flag):
    RED = 0, "stop"
    GREEN = 5, "go"


def word(name: str, offset: int, bits: int = 32) -> Register:
    return whole_register(name, offset, bits, RO, "a value")


def with_fields(*fields: tuple[str, int, int]) -> Register:
    made = tuple(RegisterField(name, lsb, width, "a part") for name, lsb, width in fields)
    return Register("parts", 0, 32, RO, "parts", made)


def test_flags_are_masks_that_know_their_bit_and_meaning() -> None:
    assert [(lamp.value, lamp.bit, lamp.meaning) for lamp in Lamp] == [
        (1, 0, "stop"),
        (32, 5, "go"),
    ]
    assert Lamp.GREEN in Lamp(0b10_0000)
    assert Lamp.RED not in Lamp(0b10_0000)


def test_a_wide_register_has_two_words() -> None:
    assert word("far", 8, 64).words == (("far", 8, 0), ("far_high", 12, 32))
    assert word("near", 4).words == (("near", 4, 0),)


def test_fields_are_packed_upward_and_state_their_value() -> None:
    fields = (
        ("a", 4, "first", lambda _: 5),
        ("b", 12, "second", lambda config: config.log_batch + 3),
    )
    register = packed_register("both", 0, "two", fields)
    assert [(field.lsb, field.mask) for field in register.fields] == [(0, 0xF), (4, 0xFFF0)]
    assert register.constant
    assert register.value(HardwareConfig(log_batch=1)) == 5 | 4 << 4


def test_reset_values_stand_where_nothing_is_constant() -> None:
    assert whole_register("index", 0, 32, RO, "an index", reset=7).value(HardwareConfig()) == 7
    assert not flag_register("lamps", 0, RO, "lamps", Lamp).constant


def test_a_map_is_ordered_by_offset() -> None:
    found = checked([word("c", 16), word("a", 0, 64), word("b", 8)], ADDRESS_BITS)
    assert [register.name for register in found] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("registers", "says"),
    [
        ([word("a", 0, 64), word("b", 4)], "registers a and b overlap at 0x4"),
        ([word("a", 8), word("b", 8)], "registers a and b overlap at 0x8"),
        ([word("a", 0), word("a", 4)], "two registers have one name"),
        ([word("a", 2)], "register a has 32 bits at 0x2"),
        ([word("a", 64)], "register a has 32 bits at 0x40"),
        ([word("a", 60, 64)], "register a has 64 bits at 0x3c"),
        ([word("a", 0, 24)], "register a has 24 bits"),
        ([with_fields(("a", 0, 4), ("b", 3, 1))], "field b of register parts overlaps"),
        ([with_fields(("a", 0, 4), ("a", 8, 1))], "field a of register parts overlaps"),
        ([with_fields(("a", 30, 3))], "field a of register parts is outside of its 32 bits"),
        ([with_fields(("a", 0, 0))], "field a of register parts is outside"),
    ],
)
def test_a_map_that_cannot_be_is_refused(registers: list[Register], says: str) -> None:
    with pytest.raises(RegisterMapError, match=says):
        checked(registers, ADDRESS_BITS)

"""Numbers packed into one operand come out as its terms read them, or are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.templates.packed_fields import (
    FieldError,
    is_field,
    kept_below,
    packed,
    takes_multiples,
)
from tandem.hw.alu_terms import evaluate, parse_term

LOW, HIGH = parse_term("uint16(b)"), parse_term("b >> 16 << 16")
INT32S = st.integers(-(1 << 31), (1 << 31) - 1)


@pytest.mark.parametrize("text", ["b", "uint5(b)", "b >> 7", "int8(b >> 7) << 3", "uint16(b) >> 2"])
def test_fields(text: str) -> None:
    assert is_field(parse_term(text))


@pytest.mark.parametrize("text", ["b + 1", "sat8(b)", "a", "b >> n", "5", "b & 7", "1 << b"])
def test_what_is_none(text: str) -> None:
    assert not is_field(parse_term(text))


def test_by_hand() -> None:
    assert packed([(LOW, [5, 65_535]), (HIGH, [3 << 16])]) == (3 << 16 | 5, 3 << 16 | 65_535)
    assert packed([(LOW, [1]), (HIGH, [-(1 << 31)])]) == (-(1 << 31) + 1,)
    assert packed([(parse_term("int8(b >> 4)"), [-2])]) == (0xFE << 4,)


@pytest.mark.parametrize(
    "fields",
    [
        # Too wide, of the wrong sign, low bits that the shift leaves none of, an overlap.
        [(LOW, [65_536])],
        [(LOW, [-1])],
        [(HIGH, [1 << 15])],
        [(HIGH, [1 << 31])],
        [(parse_term("uint8(b)"), [3]), (parse_term("uint4(b >> 4)"), [1])],
    ],
)
def test_refusals(fields: list[tuple[object, list[int]]]) -> None:
    with pytest.raises(FieldError):
        packed(fields)  # type: ignore[arg-type]


def test_bits_that_are_kept_free() -> None:
    assert kept_below(HIGH) == 16
    for text in ("b >> 16", "b >> 16 << 15", "uint16(b)", "a >> 16 << 16", "b << 16"):
        assert kept_below(parse_term(text)) is None


@given(INT32S, st.integers(-128, 127), st.integers(-(1 << 10), 1 << 10))
def test_multiples_change_one_field(operand: int, value: int, step: int) -> None:
    """What is said to be added to a field is, and leaves the other one as it is."""
    multiple = step << 16
    assert takes_multiples(HIGH, [LOW], multiple)
    after = operand + value * multiple
    if -(1 << 31) <= after < 1 << 31:
        assert evaluate(HIGH, {"b": after}) == evaluate(HIGH, {"b": operand}) + value * multiple
        assert evaluate(LOW, {"b": after}) == evaluate(LOW, {"b": operand})


def test_what_multiples_would_disturb() -> None:
    assert not takes_multiples(HIGH, [LOW], 1 << 15)
    assert not takes_multiples(HIGH, [parse_term("uint17(b)")], 1 << 16)
    assert not takes_multiples(HIGH, [parse_term("uint8(b >> 12)")], 1 << 16)
    assert not takes_multiples(parse_term("b >> 16"), [LOW], 1 << 16)


@given(INT32S, st.integers(0, 31), st.integers(1, 32), st.booleans(), st.integers(0, 31))
def test_what_is_read_is_packed(
    operand: int, right: int, width: int, signed: bool, left: int
) -> None:
    """The number that a field has in some operand can be packed, and is read back."""
    term = parse_term(f"{'' if signed else 'u'}int{width}(b >> {right}) << {left}")
    number = evaluate(term, {"b": operand})
    (found,) = packed([(term, [number])])
    assert evaluate(term, {"b": found}) == number

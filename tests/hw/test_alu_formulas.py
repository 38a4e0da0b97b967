"""Terms as formulas: what is proved holds, and what does not hold is not proved."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.hw.alu_formulas import Verdict, prove_equal
from tandem.hw.alu_terms import evaluate, low_bits, parse_term
from tandem.hw.custom_operations import AluParameter

SHIFT = AluParameter("shift", 5, False)
LOW = AluParameter("low", 8, True)


def prove(left: str, right: str, *parameters: AluParameter) -> Verdict:
    return prove_equal(parse_term(left), parse_term(right), parameters)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a + b", "b + a"),
        ("a * b", "b * a"),
        ("min(max(a, low), 127)", "min(127, max(low, a))"),
        ("int32(a + b) >> 3 >> shift", "int32(b + a) >> 3 >> shift"),
        ("a + int32(b * 5)", "a + b * 5"),
        ("sat8(a)", "min(max(a, -128), 127)"),
        ("uint16(a)", "a & 65535"),
        ("a - b", "0 - (b - a)"),
        ("a ^ b", "(a | b) - (a & b)"),
        ("a << 2", "a + a + a + a"),
        # Zeros at the end of a factor are at the end of the product.
        ("(a * low << 15) + b", "int32(a * (low << 15)) + b"),
        ("(a << 3) * (b << 2)", "a * b << 5"),
        # Flooring twice is flooring once: what `cut_products` rests on. Parameters have no sign.
        ("int32(a + (b << 8)) >> 8 >> shift", "int32(a + (b << 8)) >> 8 >> shift"),
    ],
)
def test_equal(left: str, right: str) -> None:
    assert prove(left, right, SHIFT, LOW).text == "proved"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a + b >> 1", "int32(a + b) >> 1"),
        ("min(max(a, low), 100)", "max(min(a, 100), low)"),
        ("a * b", "a * (b + 1)"),
        ("a * (b << 2)", "a * b << 3"),
        ("sat32(a + b)", "int32(a + b)"),
        ("a >> shift", "a >> 31"),
        ("usat8(a)", "uint8(a)"),
    ],
)
def test_different(left: str, right: str) -> None:
    """Each has numbers that tell the terms apart; without products they do so themselves."""
    low = AluParameter("low", 10, True)
    found = prove(left, right, SHIFT, low)
    assert not found.proved
    assert found.counterexample
    assert found.text.startswith("wrong for ")
    if "*" not in left:
        values = {"a": 0, "b": 0, "shift": 0, "low": 0, **found.counterexample}
        results = (evaluate(parse_term(text), values) for text in (left, right))
        one, other = (low_bits(result, 32, signed=True) for result in results)
        assert one != other


def test_products_are_uninterpreted() -> None:
    """A factor that is split is true, and not decided by what is known of products."""
    assert not prove("a * 3", "a * 2 + a").proved


def test_flooring_twice_is_flooring_once() -> None:
    """What products that are cut rest on: with low bits of zeros in what is added, they may be cut
    off before, too. The product is any number of 48 bits."""
    whole = "(a * uint16(b) + (low << 8)) >> 8 >> shift"
    cut = "(a * uint16(b) >> 8) + low >> shift"
    assert prove(whole, cut, SHIFT, AluParameter("low", 16, True)).proved


@settings(max_examples=25, deadline=None)
@given(value=st.integers(-(1 << 31), (1 << 31) - 1), width=st.integers(1, 32))
def test_numbers_of_casts(value: int, width: int) -> None:
    for cast in (f"int{width}", f"uint{width}", f"sat{width}", f"usat{width}"):
        term = parse_term(f"{cast}({value})")
        result = low_bits(evaluate(term, {}), 32, signed=True)
        assert prove(f"{cast}({value}) + 0 * a", f"{result} + 0 * a").proved

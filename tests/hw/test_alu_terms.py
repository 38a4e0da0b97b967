"""Terms: text both ways, values, and bounds of values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.alu_terms import (
    MOST_NODES,
    Binary,
    Cast,
    Name,
    Number,
    Term,
    TermOp,
    evaluate,
    interval,
    low_bits,
    names_of,
    parse_term,
    print_term,
    signed_bits,
    subterms,
)
from tandem.hw.errors import TermError

SMALL = st.integers(-40, 40)
NAMES = ("a", "b", "shift")


def terms() -> st.SearchStrategy[Term]:
    """Terms whose shifts are by `shift`, or by a number."""
    leaves = st.one_of(
        st.sampled_from([Name("a"), Name("b")]),
        st.integers(-(1 << 31), (1 << 31) - 1).map(Number),
    )
    amounts = st.one_of(st.just(Name("shift")), st.integers(0, 7).map(Number))
    operators = st.sampled_from([op for op in TermOp if not op.shifts])
    shifts = st.sampled_from([TermOp.SHR, TermOp.SHL])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Binary, operators, inner, inner),
            st.builds(Binary, shifts, inner, amounts),
            st.builds(Cast, st.integers(1, 32), st.booleans(), inner),
        ),
        max_leaves=8,
    )


def python(term: Term, values: dict[str, int]) -> int:
    """The value by Python itself: the term's text is an expression of it."""
    casts = {
        f"{'' if signed else 'u'}int{width}": lambda value, width=width, signed=signed: (
            int.from_bytes((value % (1 << width)).to_bytes(8, "little"), "little", signed=False)
            - (1 << width if signed and value >> width - 1 & 1 else 0)
        )
        for width in range(1, 33)
        for signed in (False, True)
    }
    found: int = eval(print_term(term), {**casts, **values})
    return found


@given(terms())
def test_texts(term: Term) -> None:
    assert parse_term(print_term(term)) == term


@given(terms(), SMALL, SMALL, st.integers(0, 7))
def test_values_are_those_of_python(term: Term, a: int, b: int, shift: int) -> None:
    values = {"a": a, "b": b, "shift": shift}
    assert evaluate(term, values) == python(term, values)


@given(terms(), st.data())
def test_bounds_hold(term: Term, data: st.DataObject) -> None:
    ranges = {}
    for name, limits in (("a", SMALL), ("b", SMALL), ("shift", st.integers(0, 7))):
        low, high = sorted((data.draw(limits), data.draw(limits)))
        ranges[name] = low, high
    low, high = interval(term, ranges)
    values = {name: data.draw(st.integers(*limits)) for name, limits in ranges.items()}
    found = evaluate(term, values)
    assert low <= found <= high
    bits = signed_bits(low, high)
    assert low_bits(found, bits, signed=True) == found


def test_by_hand() -> None:
    term = parse_term("min(max(int32(a + b) >> 2, -8), 7)")
    assert evaluate(term, {"a": 20, "b": 9}) == 7
    assert evaluate(term, {"a": -20, "b": 9}) == -3
    assert evaluate(term, {"a": (1 << 31) - 1, "b": 1}) == -8
    assert evaluate(parse_term("uint4(a)"), {"a": -3}) == 13
    assert evaluate(parse_term("int4(a)"), {"a": 13}) == -3
    assert names_of(term) == ("a", "b")
    assert [print_term(part) for part in subterms(parse_term("a - 1"))] == ["a", "1", "a - 1"]
    assert interval(parse_term("a & b"), {"a": (0, 5), "b": (0, 9)}) == (0, 15)


@pytest.mark.parametrize("op", TermOp)
def test_which_operators_commute(op: TermOp) -> None:
    values = {"a": 6, "b": 1}
    term = Binary(op, Name("a"), Name("b"))
    swapped = Binary(op, Name("b"), Name("a"))
    assert op.commutes == (evaluate(term, values) == evaluate(swapped, values))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a <", "is no term"),
        ("", "is no term"),
        ("a / b", "'a / b' is no term: names"),
        ("abs(a)", "'abs(a)' is no term"),
        ("min(a)", "'min(a)' is no term"),
        ("max(a, b, 3)", "'max(a, b, 3)' is no term"),
        ("int33(a)", "'int33(a)' is no term"),
        ("int0(a)", "'int0(a)' is no term"),
        ("True", "'True' is no term"),
        ("1.5", "'1.5' is no term"),
        ("a.b", "'a.b' is no term"),
        ("~a", "'~a' is no term"),
        ("2147483648", "2147483648 does not fit 32 bits"),
        ("+".join("a" * (MOST_NODES + 2)), f"a term of {MOST_NODES + 1} operators"),
        ("a" * 10_000, "a term of 10,000 characters"),
        ("(" * 3000 + "a" + ")" * 3000, "is no term"),
        ("a\0", "is no term"),
    ],
)
def test_what_is_no_term(text: str, words: str) -> None:
    with pytest.raises(TermError) as caught:
        parse_term(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_longest_term() -> None:
    term = parse_term("+".join("a" * (MOST_NODES + 1)))
    assert evaluate(term, {"a": 1}) == MOST_NODES + 1

"""Arithmetic of extents agrees with that of the numbers that symbols stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Dim, Extent
from tandem.compiler.graph.extents import (
    difference,
    product,
    quotient,
    replaced,
    sum_of,
    symbols_in,
)

SIZES: dict[str, Extent] = {"M": 5, "N": 7}
EXTENTS = st.one_of(
    st.integers(0, 6),
    st.builds(
        lambda names, factor: Dim(tuple(sorted(names)), factor),
        st.lists(st.sampled_from("MN"), min_size=1, max_size=3),
        st.integers(1, 6),
    ),
)


def number(extent: Extent) -> int:
    found = replaced(extent, SIZES)
    assert isinstance(found, int)
    return found


@given(st.lists(EXTENTS, max_size=3))
def test_products_and_sums(extents: list[Extent]) -> None:
    expected = 1
    for extent in extents:
        expected *= number(extent)
    assert number(product(extents)) == expected
    total = sum_of(extents)
    if total is not None:
        assert number(total) == sum(map(number, extents))


@given(EXTENTS, EXTENTS)
def test_what_is_undone(left: Extent, right: Extent) -> None:
    whole = product([left, right])
    if right == 0:
        assert quotient(whole, right) is None
    else:
        assert quotient(whole, right) == left
    ratio, rest = quotient(left, right), difference(left, right)
    if ratio is not None:
        assert number(ratio) * number(right) == number(left)
    if rest is not None:
        assert number(rest) == number(left) - number(right)
        assert sum_of([rest, right]) == left


def test_by_hand() -> None:
    n, mn = Dim(("N",)), Dim(("M", "N"), 6)
    assert str(mn) == "6*M*N"
    assert product([n, 3, Dim(("M",), 2)]) == mn
    assert product([n, 0]) == 0
    assert quotient(mn, n) == Dim(("M",), 6)
    assert quotient(mn, 4) is None
    assert quotient(n, mn) is None
    assert quotient(0, n) == 0
    assert sum_of([n, n, 0]) == Dim(("N",), 2)
    assert sum_of([n, 1]) is None
    assert difference(Dim(("N",), 3), n) == Dim(("N",), 2)
    assert difference(n, n) == 0
    assert difference(2, 3) is None
    assert symbols_in(mn) == {"M", "N"}
    assert replaced(mn, {"M": n}) == Dim(("N", "N"), 6)


def test_refusals() -> None:
    for symbols, factor in (((), 1), (("N", "M"), 1), (("N",), 0)):
        with pytest.raises(GraphError, match="one symbol or more, in order"):
            Dim(symbols, factor)
    for name in ("", "N.M", "1", "ä"):
        with pytest.raises(GraphError, match="a symbol is letters, digits and _"):
            Dim((name,))

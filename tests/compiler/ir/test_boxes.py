"""`compiler.ir.boxes`: every access lies in the box, and boxes of plain sums are the least."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import IRError
from tandem.compiler.ir import FLOAT32, INT32, INT64, Buffer, Const, Expr, Load, Var
from tandem.compiler.ir.boxes import Box, UnboundedBoxError, box, union
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import cast, index
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.visit import variables
from tests.support.compiler.ir.index_values import indices, points, ranges, value

INNER, OUTER = ("i", "j"), ("o", "p")
i, j, o, p, q = (Var(name) for name in (*INNER, *OUTER, "q"))
HUGE = 10**9


def _shown(found: Box) -> tuple[str, ...]:
    return tuple(
        f"{text(low)} :+ {extent}" for low, extent in zip(found.lower, found.shape, strict=True)
    )


def _upto(**last: int) -> dict[str, Interval]:
    return {name: Interval(0, extent - 1) for name, extent in last.items()}


@given(
    st.lists(indices((*INNER, *OUTER)), min_size=1, max_size=2),
    ranges(INNER, 5),
    ranges(OUTER, 4),
    st.integers(1, 20),
)
def test_every_access_within_the_dimension_lies_in_the_box(
    accesses: list[Expr], inner: dict[str, Interval], outer: dict[str, Interval], extent: int
) -> None:
    found = box(accesses, inner, outer, [extent] * len(accesses))
    assert len(found.lower) == len(found.shape) == len(accesses)
    for access, lower, length in zip(accesses, found.lower, found.shape, strict=True):
        assert variables(lower) <= set(OUTER)
        assert length <= extent
        for place in points(outer):
            start = value(lower, place)
            for point in points(inner):
                number = value(access, point | place)
                whole = length == extent and not 0 <= number < extent
                assert whole or start <= number < start + length


@given(
    st.lists(st.integers(-4, 4), min_size=4, max_size=4),
    st.integers(-9, 9),
    ranges(INNER, 5),
    ranges(OUTER, 4),
)
def test_boxes_of_sums_are_the_least(
    factors: list[int], constant: int, inner: dict[str, Interval], outer: dict[str, Interval]
) -> None:
    names = (*INNER, *OUTER)
    access: Expr = index(constant)
    for factor, name in zip(factors, names, strict=True):
        access = access + Var(name) * factor
    found = box([access], inner, outer, [HUGE])
    for place in points(outer):
        touched = [value(access, point | place) for point in points(inner)]
        assert value(found.lower[0], place) == min(touched)
        assert found.shape == (max(touched) - min(touched) + 1,)


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        pytest.param(o * 4 + i, "o * 4 :+ 4", id="tile"),
        pytest.param(o * 8 + i * 2 + j - 1, "o * 8 - 1 :+ 9", id="strided window with padding"),
        pytest.param(o - i, "o - 3 :+ 4", id="backwards"),
        pytest.param((o * 8 + i) // 4, "o * 2 :+ 1", id="quotient within a period"),
        pytest.param((o * 8 + i + 2) // 4, "o * 2 :+ 2", id="quotient over two periods"),
        pytest.param((o + i) // 4, "o // 4 :+ 2", id="quotient, start unknown"),
        pytest.param((o * 2 + i * 3) // 4, "o // 2 :+ 3", id="quotient, start at even numbers"),
        pytest.param((o * 8 + i) % 8, "0 :+ 4", id="remainder of the inner part"),
        pytest.param((o * 4 + i) % 8, "o % 2 * 4 :+ 4", id="remainder that comes apart"),
        pytest.param((o + i) % 8, "0 :+ 8", id="remainder that wraps anywhere"),
        pytest.param((o * 4 + i) // 12 * 12 + (o * 4 + i) % 12, "o * 4 :+ 4", id="put together"),
        pytest.param(o, "o :+ 1", id="a point"),
        pytest.param(index(7), "7 :+ 1", id="a constant"),
        pytest.param(i * q, "0 :+ 13", id="product: its interval"),
        pytest.param(i * p, "0 :+ 64", id="product without bounds: whole"),
        pytest.param(p * 64 + i * 32 + j, "0 :+ 64", id="as long as the dimension: whole"),
    ],
)
def test_examples(access: Expr, expected: str) -> None:
    assert _shown(box([access], _upto(i=4, j=3), _upto(o=50, q=5), [64])) == (expected,)


def test_a_dimension_that_data_decides_is_whole() -> None:
    rows = Buffer("rows", (4,), INT32)
    wide = Buffer("wide", (4,), INT64)
    for load in (cast(Load(rows, (o,)), INT64), Load(wide, (i,))):
        found = box([load + 1, i + o], _upto(i=4), _upto(o=5), [64, 64])
        assert _shown(found) == ("0 :+ 64", "o :+ 4")


def test_no_turns_need_nothing() -> None:
    found = box([o + i, o], _upto(i=0), _upto(o=5), [64, 8])
    assert found.shape == (0, 0)
    assert union([found, found], [64, 8], _upto(o=5)).shape == (0, 0)


def test_unbounded_outer_variables_stay_symbols() -> None:
    assert _shown(box([p * 4 + i], _upto(i=4), {}, [64])) == ("p * 4 :+ 4",)


@pytest.mark.parametrize(
    ("accesses", "inner", "message"),
    [
        pytest.param([i], {}, r"1 indices in a buffer of 2 dimensions", id="rank"),
        pytest.param([i, j], {"i": Interval(0, None)}, r"i is not bounded: from 0 to None", id="i"),
        pytest.param([i, Const(1, INT32)], {}, r"type int64, not int32", id="type"),
        pytest.param([i, Const(1.0, FLOAT32)], {}, r"type int64, not float32", id="float"),
    ],
)
def test_refusals(accesses: list[Expr], inner: dict[str, Interval], message: str) -> None:
    with pytest.raises(UnboundedBoxError, match=message) as caught:
        box(accesses, inner, {}, [8, 8])
    assert isinstance(caught.value, IRError)


def test_union_of_shifted_boxes() -> None:
    boxes = [Box((o * 4 + shift,), (3,)) for shift in (0, 2, -1)]
    assert _shown(union(boxes, [64], {})) == ("o * 4 - 1 :+ 6",)
    assert _shown(union(boxes, [6], {})) == ("0 :+ 6",)


def test_union_of_boxes_that_move_against_each_other_is_whole() -> None:
    boxes = [Box((o * 4,), (3,)), Box((o * 3,), (3,))]
    assert _shown(union(boxes, [64], {})) == ("0 :+ 64",)
    assert _shown(union(boxes, [64], _upto(o=1))) == ("o * 4 :+ 3",)


def test_union_forgets_empty_boxes() -> None:
    boxes = [Box((o * 4,), (0,)), Box((o * 3,), (3,))]
    assert _shown(union(boxes, [64], {})) == ("o * 3 :+ 3",)


@given(
    st.lists(indices(OUTER, depth=2), min_size=1, max_size=3), st.integers(0, 4), ranges(OUTER, 4)
)
def test_a_union_holds_each_box(lower: list[Expr], length: int, outer: dict[str, Interval]) -> None:
    boxes = [Box((low,), (length + number,)) for number, low in enumerate(lower)]
    found = union(boxes, [12], outer)
    for place in points(outer):
        start = value(found.lower[0], place)
        for one in boxes:
            first = value(one.lower[0], place)
            for number in range(first, first + one.shape[0]):
                whole = found.shape == (12,) and not 0 <= number < 12
                assert whole or start <= number < start + found.shape[0]

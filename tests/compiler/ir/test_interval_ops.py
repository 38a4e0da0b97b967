"""`compiler.ir.interval_ops`: every result lies in the interval of the results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir import Binary, BinaryOp, Const, UnaryOp
from tandem.compiler.ir.interval_ops import ANY, EMPTY, Interval, binary_interval, unary_interval
from tests.support.compiler.ir.index_values import value

SPAN = range(-9, 10)
BOUNDS = st.none() | st.integers(-6, 6)
INTERVALS = st.builds(Interval, BOUNDS, BOUNDS)
FLOATS_ONLY = (BinaryOp.DIV, BinaryOp.POW)
TIGHT = (
    *(BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX),
    *(BinaryOp.LT, BinaryOp.LE, BinaryOp.EQ, BinaryOp.NE, BinaryOp.FLOORDIV),
)
"""Of bounded operands the bounds of these are taken."""


@pytest.mark.parametrize("op", [op for op in BinaryOp if op not in FLOATS_ONLY])
@given(one=INTERVALS, other=INTERVALS)
def test_binary(op: BinaryOp, one: Interval, other: Interval) -> None:
    found = binary_interval(op, one, other)
    assert found.empty == (one.empty or other.empty)
    results = [
        value(Binary(op, Const(x), Const(y)), {})
        for x in SPAN
        if x in one
        for y in SPAN
        if y in other
    ]
    assert all(each in found for each in results)
    if op in TIGHT and one.bounds and other.bounds and results:
        assert found == Interval(min(results), max(results))


@pytest.mark.parametrize("op", [UnaryOp.NEG, UnaryOp.NOT, UnaryOp.ABS])
@given(one=INTERVALS)
def test_unary(op: UnaryOp, one: Interval) -> None:
    function = {UnaryOp.NEG: lambda x: -x, UnaryOp.NOT: lambda x: ~x, UnaryOp.ABS: abs}[op]
    found = unary_interval(op, one, -1)
    assert found.empty == one.empty
    results = [function(x) for x in SPAN if x in one]
    assert all(each in found for each in results)
    if one.bounds and results:
        assert found == Interval(min(results), max(results))


def test_unary_of_what_is_not_known() -> None:
    assert unary_interval(UnaryOp.EXP, Interval(0, 1), -1) == ANY
    assert unary_interval(UnaryOp.NOT, Interval(0, 1), 1) == Interval(0, 1)


@given(INTERVALS, INTERVALS, st.integers(-4, 4))
def test_sets(one: Interval, other: Interval, factor: int) -> None:
    inside = [x for x in SPAN if x in one]
    assert one.empty is not bool(inside)
    assert (one.only is not None) == (len(inside) == 1)
    for x in SPAN:
        assert (x in one.meet(other)) == (x in one and x in other)
        if x in one or x in other:
            assert x in one.hull(other)
        if x in one:
            assert x * factor in one.times(factor)
            assert all(x + y in one + other for y in SPAN if y in other)
    assert (one + EMPTY).empty
    assert one.hull(EMPTY) == EMPTY.hull(one) or one.empty
    assert [x for x in SPAN if x in one.hull(EMPTY)] == inside

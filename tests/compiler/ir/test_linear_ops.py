"""`compiler.ir.linear_ops`: decided rightly, written in one way, and their opposites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir import BOOL, FLOAT32, INT8, Binary, BinaryOp, Const, Expr, Var
from tandem.compiler.ir.divisions import DivisionSimplifier
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.linear_ops import compared, negated
from tandem.compiler.ir.ops import equal, not_equal
from tandem.compiler.ir.simplify import simplify
from tests.support.compiler.ir.index_values import conditions, indices, points, ranges, value

NAMES = ("i", "j", "k")
i, j = Var("i"), Var("j")
p = Var("p", BOOL)
x, y = Var("x", FLOAT32), Var("y", FLOAT32)
a, b = Var("a", INT8), Var("b", INT8)
COMPARISONS = st.sampled_from([op for op in BinaryOp if op.compares])


@given(COMPARISONS, indices(NAMES, depth=3), indices(NAMES, depth=3), ranges(NAMES, 4))
def test_comparisons(op: BinaryOp, left: Expr, right: Expr, where: dict[str, Interval]) -> None:
    one, other = linear(simplify(left, where)), linear(simplify(right, where))
    sums = DivisionSimplifier(where)
    found = compared(op, one, other, sums)
    for point in points(where):
        assert value(found, point) == value(Binary(op, left, right), point)
    shifted = compared(op, one + linear(i - 3), other + linear(i - 3), sums)
    assert shifted == found


@given(conditions(NAMES), ranges(NAMES, 4))
def test_opposites(condition: Expr, where: dict[str, Interval]) -> None:
    opposite = negated(condition)
    assert opposite is not None
    for point in points(where):
        assert value(opposite, point) == 1 - value(condition, point)


@pytest.mark.parametrize(
    ("condition", "opposite"),
    [
        pytest.param(i < j, j <= i, id="below"),
        pytest.param(i <= j, j < i, id="up to"),
        pytest.param(equal(a, b), not_equal(a, b), id="equal"),
        pytest.param(not_equal(i, 3), equal(i, 3), id="different"),
        pytest.param(~p, p, id="not"),
        pytest.param(Const(True, BOOL), Const(False, BOOL), id="constant"),
        pytest.param((i < j) & (a < b), (j <= i) | (b <= a), id="both"),
        pytest.param((i < j) | ~p, (j <= i) & p, id="either"),
        pytest.param(p, None, id="variable"),
        pytest.param((i < j) & p, None, id="both, one without"),
        pytest.param(x < y, None, id="floats: NaN is neither below nor above"),
    ],
)
def test_opposite_of(condition: Expr, opposite: Expr | None) -> None:
    assert negated(condition) == opposite

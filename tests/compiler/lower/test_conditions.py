"""Conditions as conjunctions, by hand."""

from __future__ import annotations

from tandem.compiler.ir.dtypes import BOOL, INT8
from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import all_of, cast, equal
from tandem.compiler.ir.stmt import If, Seq
from tandem.compiler.lower.conditions import conjuncts, guarded, reads_memory, split_zero_test

ROW, COLUMN = Var("i"), Var("j")
RANGES = {"i": Interval(0, 7), "j": Interval(0, None)}


def test_conjuncts() -> None:
    first, second, third = ROW < 3, COLUMN < 4, equal(ROW, COLUMN)
    assert conjuncts(all_of(first, second, third)) == (first, second, third)
    assert conjuncts(all_of(all_of(first, second), all_of(third, first))) == (
        *(first, second, third, first),
    )
    assert conjuncts(first) == (first,)
    assert conjuncts(Const(True, BOOL)) == ()
    assert conjuncts(Const(False, BOOL)) == (Const(False, BOOL),)


def test_statements_under_conditions() -> None:
    body = Seq(())
    assert guarded([], body) is body
    assert guarded([ROW < 3], body) == If(ROW < 3, body)
    assert guarded([ROW < 3, COLUMN < 4, ROW < 3], body) == If(all_of(ROW < 3, COLUMN < 4), body)


def split(condition: Expr) -> tuple[Expr, ...]:
    return split_zero_test(condition, RANGES)


def test_sums_that_are_zero() -> None:
    assert set(split(equal(4 * ROW + COLUMN, 0))) == {equal(ROW, 0), equal(COLUMN, 0)}
    assert split(equal(ROW, 0)) == (equal(ROW, 0),)
    for condition in (
        equal(4 * ROW + COLUMN, 1),
        equal(ROW - COLUMN, 0),
        ROW + COLUMN < 1,
        equal(-1 * ROW, 0),
    ):
        assert split(condition) == (condition,)
    # Nothing is known of k, and l may be below 0.
    unknown = equal(ROW + Var("k"), 0)
    assert split(unknown) == (unknown,)
    below = equal(ROW + Var("l"), 0)
    assert split_zero_test(below, {**RANGES, "l": Interval(-1, 5)}) == (below,)
    narrow = equal(cast(ROW, INT8), cast(COLUMN, INT8))
    assert split(narrow) == (narrow,)


def test_conditions_that_read_no_memory() -> None:
    assert not reads_memory(ROW + COLUMN < 3)

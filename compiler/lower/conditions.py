"""Conditions as conjunctions: the conjuncts that must all hold."""

from __future__ import annotations

from collections.abc import Iterable

from tandem.compiler.ir.dtypes import BOOL
from tandem.compiler.ir.expr import Binary, Const, Expr, Var
from tandem.compiler.ir.facts import expr_facts
from tandem.compiler.ir.interval import Ranges, interval
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import all_of, equal
from tandem.compiler.ir.stmt import If, Stmt


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The operands of a condition's "and", from left to right; () for the constant True."""
    if isinstance(condition, Binary) and condition.op is BinaryOp.AND and condition.dtype == BOOL:
        return (*conjuncts(condition.left), *conjuncts(condition.right))
    return () if condition == Const(True, BOOL) else (condition,)


def guarded(conditions: Iterable[Expr], body: Stmt) -> Stmt:
    """`body` under the conjunction of the conditions; `body` itself if there are none."""
    tests = tuple(dict.fromkeys(conditions))
    return If(all_of(*tests), body) if tests else body


def reads_memory(expr: Expr) -> bool:
    """Whether an expression loads from a buffer."""
    return bool(expr_facts(expr).loads)


def split_zero_test(condition: Expr, ranges: Ranges) -> tuple[Expr, ...]:
    """The conjuncts of `sum == 0` for a sum of nonnegative terms: each term is 0.

    `4 * i + j == 0` is `i == 0` and `j == 0`. Any other condition is returned alone.
    """
    if not (isinstance(condition, Binary) and condition.op is BinaryOp.EQ):
        return (condition,)
    if condition.left.dtype != Const(0).dtype:
        return (condition,)
    total = linear(condition.left) - linear(condition.right)
    if total.constant or not all(
        factor > 0 and isinstance(atom, Var) and _never_negative(atom, ranges)
        for atom, factor in total.terms
    ):
        return (condition,)
    return tuple(equal(atom, 0) for atom, _ in total.terms)


def _never_negative(expr: Expr, ranges: Ranges) -> bool:
    low = interval(expr, ranges).low
    return low is not None and low >= 0

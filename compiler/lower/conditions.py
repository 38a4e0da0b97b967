"""Conditions as sets of parts that must all hold."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.dtypes import BOOL
from compiler.ir.expr import Binary, BinaryOp, Const, Expr, Var
from compiler.ir.facts import expr_facts
from compiler.ir.interval import Ranges, interval
from compiler.ir.linear import linear
from compiler.ir.ops import all_of, equal
from compiler.ir.stmt import If, Stmt

__all__ = ["guarded", "parts", "reads_memory", "zeros"]


def parts(condition: Expr) -> tuple[Expr, ...]:
    """What must hold together, in the order of the text."""
    if isinstance(condition, Binary) and condition.op is BinaryOp.AND and condition.dtype == BOOL:
        return (*parts(condition.left), *parts(condition.right))
    return () if condition == Const(True, BOOL) else (condition,)


def guarded(conditions: Iterable[Expr], body: Stmt) -> Stmt:
    """`body`, where all conditions hold."""
    tests = tuple(dict.fromkeys(conditions))
    return If(all_of(*tests), body) if tests else body


def reads_memory(expr: Expr) -> bool:
    """Whether it speaks of more than variables."""
    return bool(expr_facts(expr).loads)


def zeros(condition: Expr, ranges: Ranges) -> tuple[Expr, ...]:
    """`x == 0`, taken apart where it asks of several variables that none is negative.

    `4 * i + j == 0` is `i == 0` and `j == 0`, because neither can make up for the other.
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

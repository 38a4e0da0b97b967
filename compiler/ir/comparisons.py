"""Comparisons of sums: decided where ranges allow it, and otherwise written in one way."""

from __future__ import annotations

from compiler.ir.divisions import Divisions, divided, steps
from compiler.ir.dtypes import BOOL
from compiler.ir.expr import Binary, BinaryOp, Const, Expr, Unary, UnaryOp
from compiler.ir.interval import speaks_of_data
from compiler.ir.linear import Linear, order

__all__ = ["compared", "negated"]

_OPPOSITE = {
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
    BinaryOp.LT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.LT,
    BinaryOp.AND: BinaryOp.OR,
    BinaryOp.OR: BinaryOp.AND,
}
"""For LT and LE, with the sides exchanged."""


def compared(op: BinaryOp, left: Linear, right: Linear, sums: Divisions) -> Expr:
    """`left op right` for exact sums."""
    difference = left - right
    ordered = op in (BinaryOp.LT, BinaryOp.LE)
    if ordered:
        found = _negative(difference if op is BinaryOp.LT else difference.shifted(-1), sums)
    else:
        found = _zero(difference, sums)
    if isinstance(found, bool):
        return Const(found != (op is BinaryOp.NE), BOOL)
    if any(speaks_of_data(atom) for atom, _ in difference.terms):
        # What is moved to the other side could overflow there.
        return Binary(op, left.expr(), right.expr())
    return _less(found) if ordered else _equal(op, found)


def negated(condition: Expr) -> Expr | None:
    """The opposite of a condition, without NOT in it; None if there is no such form."""
    match condition:
        case Const(value=value):
            return Const(not value, BOOL)
        case Unary(op=UnaryOp.NOT, operand=operand):
            return operand
        case Binary(op=op, left=left, right=right) if op.compares and not left.dtype.is_float:
            # The opposite of a comparison of floats is not one: both are false of a NaN.
            if op in (BinaryOp.LT, BinaryOp.LE):
                return Binary(_OPPOSITE[op], right, left)
            return Binary(_OPPOSITE[op], left, right)
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op, left=left, right=right):
            a, b = negated(left), negated(right)
            if a is None or b is None:
                return None
            return Binary(_OPPOSITE[op], a, b)
        case _:
            return None


def _negative(value: Linear, sums: Divisions) -> Linear | bool:
    """Whether a sum is below 0: yes, no, or the simplest sum that is below 0 in the same cases.

    `g * a + b` is below 0 where its quotient by `g` is: if `b // g` is always `k`, where `a + k`
    is. And `x // c + k` is where `x + k * c` is.
    """
    while True:
        found = sums.interval(value)
        if found.high is not None and found.high < 0:
            return True
        if found.low is not None and found.low >= 0:
            return False
        if (split := sums.coarse(value, 0)) is not None:
            value = split[1]
            continue
        under = _undivided(value)
        if under is None or not sums.exact(under):
            return value
        value = under


def _undivided(value: Linear) -> Linear | None:
    if len(value.terms) != 1 or abs(value.terms[0][1]) != 1:
        return None
    atom, sign = value.terms[0]
    inner = divided(atom, BinaryOp.FLOORDIV)
    if inner is None:
        return None
    if sign > 0:
        return inner[0].shifted(value.constant * inner[1])
    # k < x // c where (k + 1) * c - 1 < x.
    return inner[0].times(-1).shifted((value.constant + 1) * inner[1] - 1)


def _zero(value: Linear, sums: Divisions) -> Linear | bool:
    """Whether a sum is 0: yes, no, or the simplest sum that is 0 in the same cases."""
    if not value.terms:
        return value.constant == 0
    if 0 not in sums.interval(value):
        return False
    for step in steps(value, 0):
        ends = sums.interval(value.split(step)[1]).bounds
        if ends is not None and ends[1] // step * step < ends[0]:
            return False
    common = value.divisor
    return Linear(value.split(common)[0].terms, value.constant // common)


def _less(value: Linear) -> Expr:
    """`value < 0`, with what is subtracted on the right."""
    gains, losses = _sides(value)
    excess = -value.constant
    if not losses.terms:
        return Binary(BinaryOp.LT, gains.expr(), Const(excess))
    if not gains.terms:
        return Binary(BinaryOp.LE, Const(1 - excess), losses.expr())
    if excess == 1:
        return Binary(BinaryOp.LE, gains.expr(), losses.expr())
    if excess < 0:
        return Binary(BinaryOp.LT, gains.shifted(-excess).expr(), losses.expr())
    return Binary(BinaryOp.LT, gains.expr(), losses.shifted(excess).expr())


def _equal(op: BinaryOp, value: Linear) -> Expr:
    """`value op 0`, for EQ and NE, with what is subtracted on the right."""
    gains, losses = _sides(value)
    if not gains.terms or (losses.terms and order(losses.terms[0]) < order(gains.terms[0])):
        gains, losses, value = losses, gains, value.times(-1)
    if not losses.terms or value.constant < 0:
        return Binary(op, gains.expr(), losses.shifted(-value.constant).expr())
    return Binary(op, gains.shifted(value.constant).expr(), losses.expr())


def _sides(value: Linear) -> tuple[Linear, Linear]:
    gains = tuple(term for term in value.terms if term[1] > 0)
    losses = tuple((atom, -factor) for atom, factor in value.terms if factor < 0)
    return Linear(gains), Linear(losses)

"""Index arithmetic on sums: each operation on exact sums gives an exact sum again.

Where elements of arrays take part and a result may overflow, it stays as it is written: as an atom.
"""

from __future__ import annotations

from math import gcd

from compiler.ir.arithmetic import binary_function, unary_function
from compiler.ir.divisions import Divisions
from compiler.ir.dtypes import INDEX
from compiler.ir.expr import Binary, BinaryOp, Const, Expr, Unary, UnaryOp
from compiler.ir.interval import speaks_of_data
from compiler.ir.linear import Linear, order
from compiler.ir.ops import chained

__all__ = ["binary_sum", "chain", "unary_sum"]


def unary_sum(op: UnaryOp, value: Linear, sums: Divisions) -> Linear:
    """`op` of an exact sum."""
    if not value.terms:
        return Linear((), unary_function(op, INDEX)(value.constant))
    found = sums.interval(value)
    match op:
        case UnaryOp.NEG:
            result = value.times(-1)
        case UnaryOp.NOT:
            result = value.times(-1).shifted(-1)
        case _ if found.low is not None and found.low >= 0:
            result = value
        case _ if found.high is not None and found.high <= 0:
            result = value.times(-1)
        case _:
            return sums.atom(Unary(op, value.expr()))
    return result if sums.exact(result) else Linear.atom(Unary(op, value.expr()))


def binary_sum(op: BinaryOp, left: Linear, right: Linear, sums: Divisions) -> Linear:
    """`op` of two exact sums."""
    if not left.terms and not right.terms:
        return Linear((), binary_function(op, INDEX)(left.constant, right.constant))
    match op:
        case BinaryOp.MIN | BinaryOp.MAX:
            return _extreme(op, left, right, sums)
        case BinaryOp.MUL if left.terms and right.terms:
            return _product(left, right, sums)
    result = _affine(op, left, right, sums)
    if result is not None and sums.exact(result):
        return sums.joined(result)
    return sums.atom(Binary(op, left.expr(), right.expr()))


def _affine(op: BinaryOp, left: Linear, right: Linear, sums: Divisions) -> Linear | None:
    """The result as a sum, if it is one; it may not be exact."""
    number = None if right.terms else right.constant
    match op:
        case BinaryOp.ADD:
            return left + right
        case BinaryOp.SUB:
            return left - right
        case BinaryOp.MUL:
            return right.times(left.constant) if number is None else left.times(number)
        case BinaryOp.FLOORDIV | BinaryOp.MOD if number is not None:
            return _division(op, left, number, sums)
        case BinaryOp.FLOORDIV | BinaryOp.MOD if not left.terms and left.constant == 0:
            return left
        case BinaryOp.SHL if number is not None:
            return left.times(1 << number if 0 <= number < INDEX.bits else 0)
        case BinaryOp.SHR if number is not None and 0 <= number < INDEX.bits - 1:
            return sums.quotient(left, 1 << number)
        case BinaryOp.OR | BinaryOp.XOR if number == 0:
            return left
        case BinaryOp.AND if number == 0:
            return right
        case _:
            return None


def _division(op: BinaryOp, left: Linear, divisor: int, sums: Divisions) -> Linear | None:
    if divisor == 0:
        return Linear(())
    if divisor < 0:
        # Both signs turned: the same quotient, and the opposite of the remainder.
        flipped = left.times(-1)
        if not sums.exact(flipped) or divisor == INDEX.low:
            return None
        found = _division(op, flipped, -divisor, sums)
        return found.times(-1) if found is not None and op is BinaryOp.MOD else found
    return (sums.quotient if op is BinaryOp.FLOORDIV else sums.remainder)(left, divisor)


def _product(left: Linear, right: Linear, sums: Divisions) -> Linear:
    """Of two sums, neither of them a number."""
    written = Binary(BinaryOp.MUL, left.expr(), right.expr())
    if speaks_of_data(written):
        return sums.atom(written)
    factor, parts = 1, list[Expr]()
    for each in (left, right):
        common = gcd(each.divisor, each.constant) * (1 if each.terms[0][1] > 0 else -1)
        factor *= common
        terms = tuple((atom, times // common) for atom, times in each.terms)
        parts += chain(BinaryOp.MUL, Linear.of(dict(terms), each.constant // common).expr())
    return sums.atom(_in_order(BinaryOp.MUL, parts)).times(factor)


def _extreme(op: BinaryOp, left: Linear, right: Linear, sums: Divisions) -> Linear:
    """The least or the greatest of what two sums stand for, without those that never are it."""
    kept: list[Linear] = []
    for each in (*_choices(op, left, sums), *_choices(op, right, sums)):
        if any(_decided(op, other, each, sums) for other in kept):
            continue
        kept = [other for other in kept if not _decided(op, each, other, sums)] + [each]
    if len(kept) == 1:
        return kept[0]
    return sums.atom(_in_order(op, [each.expr() for each in kept]))


def _choices(op: BinaryOp, value: Linear, sums: Divisions) -> list[Linear]:
    if len(value.terms) != 1 or value.terms[0][1] != 1 or value.constant:
        return [value]
    parts = chain(op, value.terms[0][0])
    return [value] if len(parts) == 1 else [sums.of(each) for each in parts]


def _decided(op: BinaryOp, one: Linear, other: Linear, sums: Divisions) -> bool:
    """Whether of the two it is always `one`."""
    found = sums.interval(one - other)
    end = found.high if op is BinaryOp.MIN else found.low
    return end is not None and (end <= 0 if op is BinaryOp.MIN else end >= 0)


def chain(op: BinaryOp, expr: Expr) -> list[Expr]:
    """What `op` connects, from left to right: one expression, if it is not `op`."""
    match expr:
        case Binary(op=found, left=left, right=right) if found is op:
            return [*chain(op, left), *chain(op, right)]
        case _:
            return [expr]


def _in_order(op: BinaryOp, parts: list[Expr]) -> Expr:
    """In one order, numbers last."""
    return chained(op, sorted(parts, key=lambda each: (isinstance(each, Const), order((each, 1)))))

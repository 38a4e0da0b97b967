"""Intervals: the least and the greatest value that an integer expression can take.

`interval` looks at one node after the other and forgets that two of them speak of the same
variable: it does not see that `i - i` is 0. Simplify first, then ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias, assert_never

from compiler.errors import IRError
from compiler.ir.dtypes import BOOL, INDEX, DType, Kind
from compiler.ir.expr import Binary, BinaryOp, Cast, Const, Expr, Load, Select, Unary, Var
from compiler.ir.interval_ops import ANY, BIT, EMPTY, Interval, binary_interval, unary_interval
from compiler.ir.visit import operands

__all__ = ["EMPTY", "NO_RANGES", "Interval", "Ranges", "interval", "speaks_of_data"]

Ranges: TypeAlias = Mapping[str, Interval]
"""What is known of variables, by name."""

NO_RANGES: Ranges = MappingProxyType({})


def interval(expr: Expr, ranges: Ranges = NO_RANGES) -> Interval:
    """Every value of an expression of integers or bools lies in it; a bool is 0 or 1.

    A variable that `ranges` does not know, and an element of an array, have the range of their
    type; that of INDEX is unbounded. What index arithmetic makes of variables and constants is
    taken not to overflow; where an element of an array is part of it, it may. If a variable's
    range is empty, so is the result.

    Raises
    ------
    IRError
        For an expression of floats.
    """
    found = _bounds(expr, ranges)
    if expr.dtype != INDEX or found.empty:
        return found
    return Interval(
        None if found.low is None or found.low <= INDEX.low else found.low,
        None if found.high is None or found.high >= INDEX.high else found.high,
    )


def speaks_of_data(expr: Expr) -> bool:
    """Whether elements of arrays, or conversions, are part of it."""
    if isinstance(expr, Load | Cast):
        return True
    return any(speaks_of_data(each) for each in operands(expr))


def _whole(dtype: DType) -> Interval:
    return BIT if dtype == BOOL else Interval(dtype.low, dtype.high)


def _bounds(expr: Expr, ranges: Ranges) -> Interval:
    """As `interval`, but with numbers for what data can be in INDEX, so that overflow is seen."""
    match expr:
        case Const(value=value, dtype=dtype) if not dtype.is_float:
            return Interval(int(value), int(value))
        case Var(name=name) if name in ranges:
            return ranges[name]
        case Binary(op=op, left=left, right=right) if left.dtype.is_integer:
            a, b = _bounds(left, ranges), _bounds(right, ranges)
            if op is BinaryOp.SHL:
                return _settled(expr, _shifted_left(a, b, left.dtype))
            return _settled(expr, binary_interval(op, a, b))
        case _ if expr.dtype.is_float:
            raise IRError(f"there are no intervals of {expr.dtype}")
        case Var(dtype=dtype):
            return ANY if dtype == INDEX else _whole(dtype)
        case Const() | Load():
            return _whole(expr.dtype)
        case Cast(operand=operand, dtype=dtype):
            return _cast(operand, dtype, ranges)
        case Select(condition=condition, then=then, otherwise=otherwise):
            test = _bounds(condition, ranges).only
            if test is not None:
                return _bounds(then if test else otherwise, ranges)
            return _bounds(then, ranges).hull(_bounds(otherwise, ranges))
        case Unary(op=change, operand=operand):
            top = -1 if expr.dtype.kind is Kind.INT else _whole(expr.dtype).high or 0
            return _settled(expr, unary_interval(change, _bounds(operand, ranges), top))
        case Binary(left=left) if left.dtype.is_float:
            return BIT
        case Binary(op=op, left=left, right=right):
            return _settled(expr, _of_bools(op, _bounds(left, ranges), _bounds(right, ranges)))
        case _:
            assert_never(expr)


def _settled(expr: Expr, found: Interval) -> Interval:
    """What a type makes of a result that it may not be able to hold."""
    held = _held(found, expr.dtype)
    wraps = held is not found and (expr.dtype != INDEX or speaks_of_data(expr))
    return held if wraps else found


def _held(found: Interval, dtype: DType) -> Interval:
    """The interval if a type holds all of it, else everything that the type holds."""
    whole = _whole(dtype)
    ends, limits = found.bounds, whole.bounds
    assert limits is not None
    inside = ends is not None and limits[0] <= ends[0] and ends[1] <= limits[1]
    return found if inside else whole


def _shifted_left(a: Interval, b: Interval, dtype: DType) -> Interval:
    if b.only is None:
        return EMPTY if a.empty or b.empty else ANY
    return a.times(1 << b.only if 0 <= b.only < dtype.bits else 0)


def _of_bools(op: BinaryOp, a: Interval, b: Interval) -> Interval:
    same = {BinaryOp.AND: BinaryOp.MIN, BinaryOp.OR: BinaryOp.MAX, BinaryOp.XOR: BinaryOp.NE}
    return binary_interval(same.get(op, op), a, b)


def _cast(operand: Expr, dtype: DType, ranges: Ranges) -> Interval:
    if operand.dtype.is_float:
        return _whole(dtype)
    found = _bounds(operand, ranges)
    if found.empty:
        return found
    if dtype == BOOL:
        return binary_interval(BinaryOp.NE, found, Interval(0, 0))
    return _held(found, dtype)

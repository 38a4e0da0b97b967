"""Intervals: the least and the greatest value that an integer expression can take.

`interval` treats the operands of a node as independent: it does not find that `i - i` is 0.
Simplify expressions first.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias, assert_never

from tandem.compiler.errors import IRError
from tandem.compiler.ir.dtypes import BOOL, INDEX, DType, Kind
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.interval_ops import (
    ANY,
    BIT,
    EMPTY,
    Interval,
    binary_interval,
    unary_interval,
)
from tandem.compiler.ir.operations import (
    BinaryOp,
)
from tandem.compiler.ir.visit import operands

Ranges: TypeAlias = Mapping[str, Interval]
"""The intervals of variables, by name."""

NO_RANGES: Ranges = MappingProxyType({})


def interval(expr: Expr, ranges: Ranges = NO_RANGES) -> Interval:
    """Return an interval that holds every value of an expression of integers or bools (0 or 1).

    A variable that is not in `ranges`, and an element of a buffer, have the range of their type;
    INDEX is unbounded. Index arithmetic on variables and constants is assumed not to
    overflow; index arithmetic on data may. The result is empty if a variable's range is.

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


def depends_on_data(expr: Expr) -> bool:
    """Whether an expression contains loads, casts or reinterpreted bits."""
    if isinstance(expr, Load | Cast | Reinterpret):
        return True
    return any(depends_on_data(each) for each in operands(expr))


def _whole(dtype: DType) -> Interval:
    return BIT if dtype == BOOL else Interval(dtype.low, dtype.high)


def _bounds(expr: Expr, ranges: Ranges) -> Interval:
    """As `interval`, but data of type INDEX has the bounds of int64, to detect overflow."""
    match expr:
        case Const(value=value, dtype=dtype) if not dtype.is_float:
            return Interval(int(value), int(value))
        case Var(name=name) if name in ranges:
            return ranges[name]
        case Binary(op=op, left=left, right=right) if left.dtype.is_integer:
            a, b = _bounds(left, ranges), _bounds(right, ranges)
            if op is BinaryOp.SHL:
                return _wrapped(expr, _shifted_left(a, b, left.dtype))
            return _wrapped(expr, binary_interval(op, a, b))
        case _ if expr.dtype.is_float or expr.dtype.is_stored_float:
            raise IRError(f"there are no intervals of {expr.dtype}")
        case Var(dtype=dtype):
            return ANY if dtype == INDEX else _whole(dtype)
        case Const() | Load() | Reinterpret():
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
            return _wrapped(expr, unary_interval(change, _bounds(operand, ranges), top))
        case Binary(left=left) if left.dtype.is_float:
            return BIT
        case Binary(op=op, left=left, right=right):
            return _wrapped(expr, _of_bools(op, _bounds(left, ranges), _bounds(right, ranges)))
        case _:
            assert_never(expr)


def _wrapped(expr: Expr, found: Interval) -> Interval:
    """The interval of a result that may overflow its type."""
    clipped = _clipped(found, expr.dtype)
    wraps = clipped is not found and (expr.dtype != INDEX or depends_on_data(expr))
    return clipped if wraps else found


def _clipped(found: Interval, dtype: DType) -> Interval:
    """The interval if a type can represent all of it, else the range of the type."""
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
    return _clipped(found, dtype)

"""What expressions are made of, beside Python's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as as_type

from compiler.errors import IRError, TensorError
from compiler.ir.dtypes import BOOL, DType
from compiler.ir.expr import Const, Expr, Operators, UnaryOp, constant, unary
from compiler.ir.ops import (
    all_of,
    any_of,
    cast,
    const,
    equal,
    maximum,
    minimum,
    not_equal,
    power,
    select,
)
from compiler.te.tensor import Combiner, ReduceAxis, Reduction

__all__ = [
    "abs",
    "acos",
    "all_along",
    "all_of",
    "any_along",
    "any_of",
    "asin",
    "atan",
    "cast",
    "ceil",
    "const",
    "cos",
    "cosh",
    "equal",
    "erf",
    "exp",
    "floor",
    "log",
    "max",
    "maximum",
    "min",
    "minimum",
    "not_equal",
    "power",
    "prod",
    "round",
    "select",
    "sin",
    "sinh",
    "sqrt",
    "sum",
    "tan",
    "tanh",
]

Axes = ReduceAxis | Sequence[ReduceAxis]


def sum(term: Operators, axis: Axes) -> Reduction:
    """The sum of `term` along axes, in its own type: cast first where it may overflow."""
    return _reduction(Combiner.SUM, term, axis)


def prod(term: Operators, axis: Axes) -> Reduction:
    """The product of `term` along axes."""
    return _reduction(Combiner.PRODUCT, term, axis)


def max(term: Operators, axis: Axes, *, start: int | float | None = None) -> Reduction:
    """The greatest `term` along axes; NaN if one is. Never less than `start`, which it begins with;
    by default that is the least number of the type."""
    return _reduction(Combiner.MAX, term, axis, start)


def min(term: Operators, axis: Axes, *, start: int | float | None = None) -> Reduction:
    """The least `term` along axes; NaN if one is. Never more than `start`, which it begins with;
    by default that is the greatest number of the type."""
    return _reduction(Combiner.MIN, term, axis, start)


def all_along(term: Operators, axis: Axes) -> Reduction:
    """Whether `term`, a bool, holds everywhere along axes."""
    return _reduction(Combiner.ALL, term, axis)


def any_along(term: Operators, axis: Axes) -> Reduction:
    """Whether `term`, a bool, holds anywhere along axes."""
    return _reduction(Combiner.ANY, term, axis)


def _reduction(
    combiner: Combiner, term: Operators, axis: Axes, start: int | float | None = None
) -> Reduction:
    if not isinstance(term, Operators):
        raise TensorError(f"{term!r} cannot be reduced: it is no expression")
    axes = (axis,) if isinstance(axis, ReduceAxis) else tuple(axis)
    if not axes:
        raise TensorError("a reduction needs at least one axis")
    expr = as_type(Expr, term)
    logical = combiner in (Combiner.ALL, Combiner.ANY)
    if logical != (expr.dtype == BOOL):
        raise TensorError(f"{combiner.name.lower()} of {expr.dtype} is not defined")
    return Reduction(combiner, expr, axes, _start(combiner, expr.dtype, start))


def _start(combiner: Combiner, dtype: DType, start: int | float | None) -> Const:
    if start is None:
        return combiner.identity(dtype)
    try:
        return constant(start, dtype)
    except IRError as error:
        name = combiner.name.lower()
        raise TensorError(f"{name} of {dtype} begins with {start!r}: {error}") from None


def abs(value: Operators) -> Expr:
    """The absolute value; of the least integer, that integer."""
    return unary(UnaryOp.ABS, value)


def exp(value: Operators) -> Expr:
    """e to the power `value`."""
    return unary(UnaryOp.EXP, value)


def log(value: Operators) -> Expr:
    """The natural logarithm."""
    return unary(UnaryOp.LOG, value)


def sqrt(value: Operators) -> Expr:
    """The square root."""
    return unary(UnaryOp.SQRT, value)


def sin(value: Operators) -> Expr:
    """The sine."""
    return unary(UnaryOp.SIN, value)


def cos(value: Operators) -> Expr:
    """The cosine."""
    return unary(UnaryOp.COS, value)


def tan(value: Operators) -> Expr:
    """The tangent."""
    return unary(UnaryOp.TAN, value)


def asin(value: Operators) -> Expr:
    """The inverse sine."""
    return unary(UnaryOp.ASIN, value)


def acos(value: Operators) -> Expr:
    """The inverse cosine."""
    return unary(UnaryOp.ACOS, value)


def atan(value: Operators) -> Expr:
    """The inverse tangent."""
    return unary(UnaryOp.ATAN, value)


def sinh(value: Operators) -> Expr:
    """The hyperbolic sine."""
    return unary(UnaryOp.SINH, value)


def cosh(value: Operators) -> Expr:
    """The hyperbolic cosine."""
    return unary(UnaryOp.COSH, value)


def tanh(value: Operators) -> Expr:
    """The hyperbolic tangent."""
    return unary(UnaryOp.TANH, value)


def erf(value: Operators) -> Expr:
    """The error function."""
    return unary(UnaryOp.ERF, value)


def floor(value: Operators) -> Expr:
    """The greatest whole number not above."""
    return unary(UnaryOp.FLOOR, value)


def ceil(value: Operators) -> Expr:
    """The least whole number not below."""
    return unary(UnaryOp.CEIL, value)


def round(value: Operators) -> Expr:
    """The nearest whole number, halves to even."""
    return unary(UnaryOp.ROUND, value)

"""Reductions and elementary functions of tensor expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias
from typing import cast as as_type

from tandem.compiler.errors import IRError, TensorError
from tandem.compiler.ir.dtypes import BOOL, DType
from tandem.compiler.ir.expr import (
    Const,
    Expr,
    ExprOperators,
    constant,
    unary,
)
from tandem.compiler.ir.operations import (
    UnaryOp,
)
from tandem.compiler.te.tensor import Combiner, ReduceAxis, Reduction

Axes = ReduceAxis | Sequence[ReduceAxis]
Elementary: TypeAlias = Callable[[ExprOperators], Expr]
"""A function of one value."""


def sum(term: ExprOperators, axis: Axes) -> Reduction:
    """The sum of `term` along axes, in the type of `term`: cast it first if sums may overflow."""
    return _reduction(Combiner.SUM, term, axis)


def prod(term: ExprOperators, axis: Axes) -> Reduction:
    """The product of `term` along axes."""
    return _reduction(Combiner.PRODUCT, term, axis)


def max(term: ExprOperators, axis: Axes, *, start: int | float | None = None) -> Reduction:
    """The greatest `term` along axes, NaN if any is NaN; never less than the initial value `start`,
    which is the least number of the type by default."""
    return _reduction(Combiner.MAX, term, axis, start)


def min(term: ExprOperators, axis: Axes, *, start: int | float | None = None) -> Reduction:
    """The least `term` along axes, NaN if any is NaN; never more than the initial value `start`,
    which is the greatest number of the type by default."""
    return _reduction(Combiner.MIN, term, axis, start)


def all_along(term: ExprOperators, axis: Axes) -> Reduction:
    """Whether `term`, a bool, holds everywhere along axes."""
    return _reduction(Combiner.ALL, term, axis)


def any_along(term: ExprOperators, axis: Axes) -> Reduction:
    """Whether `term`, a bool, holds anywhere along axes."""
    return _reduction(Combiner.ANY, term, axis)


def _reduction(
    combiner: Combiner, term: ExprOperators, axis: Axes, start: int | float | None = None
) -> Reduction:
    if not isinstance(term, ExprOperators):
        raise TensorError(f"{term!r} is no expression to reduce")
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


abs: Elementary = partial(unary, UnaryOp.ABS)
"""The absolute value; of the least integer, that integer."""
exp: Elementary = partial(unary, UnaryOp.EXP)
"""e to the power `value`."""
log: Elementary = partial(unary, UnaryOp.LOG)
"""The natural logarithm."""
sqrt: Elementary = partial(unary, UnaryOp.SQRT)
"""The square root."""
sin: Elementary = partial(unary, UnaryOp.SIN)
"""The sine."""
cos: Elementary = partial(unary, UnaryOp.COS)
"""The cosine."""
tan: Elementary = partial(unary, UnaryOp.TAN)
"""The tangent."""
asin: Elementary = partial(unary, UnaryOp.ASIN)
"""The inverse sine."""
acos: Elementary = partial(unary, UnaryOp.ACOS)
"""The inverse cosine."""
atan: Elementary = partial(unary, UnaryOp.ATAN)
"""The inverse tangent."""
sinh: Elementary = partial(unary, UnaryOp.SINH)
"""The hyperbolic sine."""
cosh: Elementary = partial(unary, UnaryOp.COSH)
"""The hyperbolic cosine."""
tanh: Elementary = partial(unary, UnaryOp.TANH)
"""The hyperbolic tangent."""
erf: Elementary = partial(unary, UnaryOp.ERF)
"""The error function."""
floor: Elementary = partial(unary, UnaryOp.FLOOR)
"""The greatest integer that is not above."""
ceil: Elementary = partial(unary, UnaryOp.CEIL)
"""The least integer that is not below."""
round: Elementary = partial(unary, UnaryOp.ROUND)
"""The nearest integer, halves to even."""

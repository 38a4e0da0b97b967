"""Functions that build the expressions for which Python has no operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import TypeAlias
from typing import cast as as_type

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, INDEX, DType
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    ExprLike,
    ExprOperators,
    Load,
    Reinterpret,
    Select,
    binary,
    check_cast,
    check_reinterpret,
    common_dtype,
    constant,
    operand,
)
from tandem.compiler.ir.operations import (
    BinaryOp,
)


def const(value: int | float | bool, dtype: DType) -> Expr:
    """Return a constant of a type."""
    return constant(value, dtype)


def index(value: int) -> Const:
    """Return a constant of the type INDEX."""
    return constant(value, INDEX)


def cast(value: ExprOperators, dtype: DType) -> Expr:
    """Return `value` cast to a type (see `Cast`); `value` itself if it has that type."""
    expr = as_type(Expr, value)
    if expr.dtype == dtype:
        return expr
    check_cast(expr.dtype, dtype)
    return Cast(expr, dtype)


def reinterpret(value: ExprOperators, dtype: DType) -> Expr:
    """Return the value of a type that has the bits of `value`; `value` itself if it has that type.

    Raises
    ------
    IRError
        If the types differ in width.
    """
    expr = as_type(Expr, value)
    if expr.dtype == dtype:
        return expr
    check_reinterpret(expr.dtype, dtype)
    return Reinterpret(expr, dtype)


Operation: TypeAlias = Callable[[ExprLike, ExprLike], Expr]
"""A function of two values of one type."""
minimum: Operation = partial(binary, BinaryOp.MIN)
"""The smaller of two values; NaN if either is."""
maximum: Operation = partial(binary, BinaryOp.MAX)
"""The greater of two values; NaN if either is."""
power: Operation = partial(binary, BinaryOp.POW)
"""`left` to the power `right`, of floats."""
equal: Operation = partial(binary, BinaryOp.EQ)
"""Whether two values are equal."""
not_equal: Operation = partial(binary, BinaryOp.NE)
"""Whether two values differ."""


def all_of(*conditions: Expr) -> Expr:
    """Return the conjunction of conditions."""
    return fold_operands(BinaryOp.AND, conditions) if conditions else Const(True, BOOL)


def any_of(*conditions: Expr) -> Expr:
    """Return the disjunction of conditions."""
    return fold_operands(BinaryOp.OR, conditions) if conditions else Const(False, BOOL)


def fold_operands(op: BinaryOp, parts: Iterable[Expr]) -> Expr:
    """Return `op` of one or more parts, from left to right."""
    return reduce(partial(Binary, op), parts)


def select(condition: ExprOperators, then: ExprLike, otherwise: ExprLike) -> Expr:
    """Return `then` if the condition holds, else `otherwise`. Only one of the two is evaluated, so
    that a condition can keep an index within its buffer."""
    test = operand(condition, BOOL)
    dtype = common_dtype("select", then, otherwise)
    return Select(test, operand(then, dtype), operand(otherwise, dtype))


def load(buffer: Buffer, *indices: ExprLike) -> Expr:
    """Return the element of `buffer` at `indices`."""
    if len(indices) != len(buffer.shape):
        raise IRError(
            f"{buffer.name} has {len(buffer.shape)} dimensions {buffer.shape}, not {len(indices)}"
        )
    return Load(buffer, tuple(operand(each, INDEX) for each in indices))

"""Values of index expressions for many iterations at once, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Select, Unary, Var
from tandem.compiler.ir.operations import BinaryOp, UnaryOp

Integers: TypeAlias = NDArray[np.int64]


class UnknownError(Exception):
    """Raised inside this package for a value that depends on data, or on an operation that indices
    do not have."""


def _floor_division(a: Any, b: Any) -> Any:
    divisor = np.where(b == 0, 1, b)
    return np.where(b == 0, 0, a // divisor)


def _remainder(a: Any, b: Any) -> Any:
    divisor = np.where(b == 0, 1, b)
    return np.where(b == 0, 0, a % divisor)


_OPERATIONS: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.FLOORDIV: _floor_division,
    BinaryOp.MOD: _remainder,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
    BinaryOp.AND: np.bitwise_and,
    BinaryOp.OR: np.bitwise_or,
}


def value(expr: Expr, variables: Mapping[str, Any]) -> Any:
    """The value of an expression of indices or a condition, of the shape of its variables' values.

    Raises
    ------
    UnknownError
        If it depends on data, on a variable that is not there, or is no arithmetic of indices.
    """
    match expr:
        case Const(value=number):
            return number
        case Var(name=name) if name in variables:
            return variables[name]
        case Binary(op=op, left=left, right=right) if op in _OPERATIONS and not (
            left.dtype.is_float
        ):
            return _OPERATIONS[op](value(left, variables), value(right, variables))
        case Unary(op=UnaryOp.NEG, operand=operand) if operand.dtype.is_integer:
            return np.negative(value(operand, variables))
        case Unary(op=UnaryOp.NOT, operand=operand) if not operand.dtype.is_integer:
            return np.logical_not(value(operand, variables))
        case Select(condition=condition, then=then, otherwise=otherwise):
            parts = (value(each, variables) for each in (condition, then, otherwise))
            return np.where(*parts)
        case Cast(operand=operand, dtype=dtype) if (
            operand.dtype.is_integer and dtype.is_integer and dtype.bits >= operand.dtype.bits
        ):
            return value(operand, variables)
        case _:
            raise UnknownError

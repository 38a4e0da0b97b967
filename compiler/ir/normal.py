"""The normal form of expressions, for one set of ranges.

Index arithmetic and comparisons of indices become affine sums (`linear_ops`). Other expressions
keep their structure: constants are folded, and identity operands are dropped.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from tandem.compiler.ir.arithmetic import binary_function, cast_function, unary_function, value_of
from tandem.compiler.ir.divisions import DivisionSimplifier
from tandem.compiler.ir.dtypes import BOOL, INDEX, DType
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
from tandem.compiler.ir.facts import expr_facts
from tandem.compiler.ir.interval import Ranges
from tandem.compiler.ir.interval_ops import ANY
from tandem.compiler.ir.linear import Linear
from tandem.compiler.ir.linear_ops import binary_sum, compared, flatten_operands, negated, unary_sum
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.ops import all_of, any_of

_RIGHT_ZERO_NEUTRAL = (
    BinaryOp.ADD,
    BinaryOp.SUB,
    BinaryOp.OR,
    BinaryOp.XOR,
    BinaryOp.SHL,
    BinaryOp.SHR,
)
_LEFT_ZERO_NEUTRAL = (BinaryOp.ADD, BinaryOp.OR, BinaryOp.XOR)

_MAX_INDEX = 1 << 31
"""A bound on the magnitude of indices, and of numbers that they are multiplied by."""


class Normaliser:
    """Simplifies expressions whose variables have given ranges."""

    def __init__(self, ranges: Ranges) -> None:
        self.sums = DivisionSimplifier(ranges)

    def expr(self, expr: Expr) -> Expr:
        """Return the normal form of an expression of any type; the same object if it is known to be
        in normal form for these ranges."""
        if isinstance(expr, Const | Var):
            return expr
        if self._known(expr) is not None:
            return expr
        summed = expr.dtype == INDEX and not isinstance(expr, Load | Reinterpret)
        value = self.linear(expr) if summed else None
        found = self._normal_form(expr) if value is None else value.expr()
        if found == expr:
            found = expr
        ranges = self.sums.ranges
        here = {name: ranges.get(name, ANY) for name in expr_facts(found).variables}
        object.__setattr__(found, "normal_for", (here, value))
        return found

    def _known(self, expr: Expr) -> tuple[Ranges, Linear | None] | None:
        """The cached facts about an expression that is in normal form here; None otherwise."""
        known: tuple[Ranges, Linear | None] | None = getattr(expr, "normal_for", None)
        if known is not None:
            ranges = self.sums.ranges
            for name, found in known[0].items():
                if ranges.get(name, ANY) != found:
                    return None
        return known

    def _normal_form(self, expr: Expr) -> Expr:
        match expr:
            case Const() | Var():
                return expr
            case Load(buffer=buffer, indices=indices):
                return Load(buffer, tuple(self.expr(each) for each in indices))
            case Binary(op=op, left=left, right=right) if op.compares and left.dtype == INDEX:
                return compared(op, self.linear(left), self.linear(right), self.sums)
            case Binary(op=op, left=left, right=right):
                return _binary(op, self.expr(left), self.expr(right))
            case Unary(op=op, operand=operand):
                return self._unary(op, self.expr(operand))
            case Cast(operand=operand, dtype=dtype):
                return _cast(self.expr(operand), dtype)
            case Reinterpret(operand=operand, dtype=dtype):
                return Reinterpret(self.expr(operand), dtype)
            case Select(condition=condition, then=then, otherwise=otherwise):
                test = self.expr(condition)
                if isinstance(test, Const):
                    return self.expr(then if test.value else otherwise)
                a, b = self.expr(then), self.expr(otherwise)
                return a if a == b else Select(test, a, b)
            case _:
                assert_never(expr)

    def linear(self, expr: Expr) -> Linear:
        """Return an index expression as an exact sum of simplified atoms (`Divisions.exact`)."""
        if isinstance(expr, Var):
            return Linear.atom(expr)
        if isinstance(expr, Const):
            return Linear((), int(expr.value))
        known = self._known(expr)
        if known is not None and known[1] is not None:
            return known[1]
        match expr:
            case Binary(op=op, left=left, right=right):
                return binary_sum(op, self.linear(left), self.linear(right), self.sums)
            case Unary(op=op, operand=operand):
                return unary_sum(op, self.linear(operand), self.sums)
            case Load() | Reinterpret():
                return Linear.atom(self.expr(expr))
            case Cast(operand=operand) if operand.dtype == INDEX:
                return self.linear(operand)
            case Cast(operand=operand):
                inner = self.expr(operand)
                found = _cast(inner, INDEX)
                if isinstance(found, Const) and abs(int(found.value)) > _MAX_INDEX:
                    # Sums of constants are assumed not to overflow; sums of casts are not.
                    return Linear.atom(Cast(inner, INDEX))
                return self.sums.atom(found)
            case Select(condition=condition, then=then, otherwise=otherwise):
                test = self.expr(condition)
                if isinstance(test, Const):
                    return self.linear(then if test.value else otherwise)
                a, b = self.linear(then), self.linear(otherwise)
                return a if a == b else self.sums.atom(Select(test, a.expr(), b.expr()))
            case _:
                assert_never(expr)

    def _unary(self, op: UnaryOp, value: Expr) -> Expr:
        if isinstance(value, Const) and not value.dtype.is_float:
            return Const(unary_function(op, value.dtype)(value.value), value.dtype)
        if value.dtype == BOOL:
            opposite = negated(value)
            return Unary(op, value) if opposite is None else self.expr(opposite)
        return Unary(op, value)


def _cast(value: Expr, dtype: DType) -> Expr:
    if value.dtype == dtype:
        return value
    if not isinstance(value, Const):
        return Cast(value, dtype)
    with np.errstate(all="ignore"):
        result = cast_function(value.dtype, dtype)(value_of(value))
    return Const(float(result) if dtype.is_float else result, dtype)


def _binary(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    """Return an operation on normal forms that are not indices."""
    dtype = left.dtype
    if dtype.is_float:
        return Binary(op, left, right)
    if isinstance(left, Const) and isinstance(right, Const):
        value = binary_function(op, dtype)(left.value, right.value)
        return Const(value, BOOL if op.compares else dtype)
    if dtype == BOOL:
        return _connected(op, left, right) if op in _NEUTRAL else Binary(op, left, right)
    a = left.value if isinstance(left, Const) else None
    b = right.value if isinstance(right, Const) else None
    if (b == 0 and op in _RIGHT_ZERO_NEUTRAL) or (
        b == 1 and op in (BinaryOp.MUL, BinaryOp.FLOORDIV)
    ):
        return left
    if (a == 0 and op in _LEFT_ZERO_NEUTRAL) or (a == 1 and op is BinaryOp.MUL):
        return right
    if (0 in (a, b) and op in (BinaryOp.MUL, BinaryOp.AND)) or (b == 1 and op is BinaryOp.MOD):
        return Const(0, dtype)
    return Binary(op, left, right)


_NEUTRAL = {BinaryOp.AND: True, BinaryOp.OR: False}


def _connected(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    """Return a conjunction or disjunction without duplicate or constant operands."""
    parts: dict[Expr, None] = {}
    for part in (*flatten_operands(op, left), *flatten_operands(op, right)):
        if isinstance(part, Const):
            if bool(part.value) is not _NEUTRAL[op]:
                return part
        else:
            parts[part] = None
    return all_of(*parts) if op is BinaryOp.AND else any_of(*parts)

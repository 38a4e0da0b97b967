"""Comparisons, logic and bits, element by element."""

from __future__ import annotations

from compiler import te
from compiler.errors import IRError
from compiler.ir.dtypes import BOOL, Kind
from compiler.ir.expr import Expr
from compiler.operators.broadcast import ANY, FLOATS, INTEGERS, NUMBERS, elementwise

__all__ = [
    "bit_shift",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "equal",
    "greater",
    "greater_or_equal",
    "is_inf",
    "is_nan",
    "less",
    "less_or_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "where",
]


@elementwise(*ANY)
def equal(a: Expr, b: Expr) -> Expr:
    """Whether a equals b."""
    return te.equal(a, b)


@elementwise(*NUMBERS)
def less(a: Expr, b: Expr) -> Expr:
    """Whether a is less."""
    return a < b


@elementwise(*NUMBERS)
def less_or_equal(a: Expr, b: Expr) -> Expr:
    """Whether a is less or equal."""
    return a <= b


@elementwise(*NUMBERS)
def greater(a: Expr, b: Expr) -> Expr:
    """Whether a is greater."""
    return a > b


@elementwise(*NUMBERS)
def greater_or_equal(a: Expr, b: Expr) -> Expr:
    """Whether a is greater or equal."""
    return a >= b


@elementwise(Kind.BOOL)
def logical_and(a: Expr, b: Expr) -> Expr:
    """Whether both hold."""
    return a & b


@elementwise(Kind.BOOL)
def logical_or(a: Expr, b: Expr) -> Expr:
    """Whether one holds."""
    return a | b


@elementwise(Kind.BOOL)
def logical_xor(a: Expr, b: Expr) -> Expr:
    """Whether exactly one holds."""
    return a ^ b


@elementwise(Kind.BOOL)
def logical_not(x: Expr) -> Expr:
    """Whether x does not hold."""
    return ~x


@elementwise(*INTEGERS)
def bitwise_and(a: Expr, b: Expr) -> Expr:
    """Bits that both have."""
    return a & b


@elementwise(*INTEGERS)
def bitwise_or(a: Expr, b: Expr) -> Expr:
    """Bits that one has."""
    return a | b


@elementwise(*INTEGERS)
def bitwise_xor(a: Expr, b: Expr) -> Expr:
    """Bits that exactly one has."""
    return a ^ b


@elementwise(*INTEGERS)
def bitwise_not(x: Expr) -> Expr:
    """Bits that x lacks."""
    return ~x


@elementwise(Kind.UINT)
def bit_shift(a: Expr, b: Expr, *, direction: str) -> Expr:
    """a shifted by b bits, `direction` "LEFT" or "RIGHT"; all leave from its width on."""
    match direction:
        case "LEFT":
            return a << b
        case "RIGHT":
            return a >> b
        case _:
            raise IRError(f"direction is LEFT or RIGHT, not {direction!r}")


@elementwise(*FLOATS)
def is_nan(x: Expr) -> Expr:
    """Whether x is no number."""
    return te.not_equal(x, x)


@elementwise(*FLOATS)
def is_inf(x: Expr, *, detect_negative: int = 1, detect_positive: int = 1) -> Expr:
    """Whether x is infinite, with a sign that is looked for."""
    found = [
        te.equal(x, limit)
        for limit, wanted in ((float("-inf"), detect_negative), (float("inf"), detect_positive))
        if wanted
    ]
    return te.any_of(*found)


@elementwise(*ANY)
def where(condition: Expr, a: Expr, b: Expr) -> Expr:
    """a where the condition, a bool, holds, else b."""
    if condition.dtype != BOOL:
        raise IRError(f"the condition is {condition.dtype}, not bool")
    return te.select(condition, a, b)

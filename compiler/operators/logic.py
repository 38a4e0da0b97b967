"""Comparisons, logic and bits, element by element."""

from __future__ import annotations

import operator
from enum import Enum

from compiler import te
from compiler.errors import IRError
from compiler.ir.dtypes import BOOL, Kind
from compiler.ir.expr import Expr
from compiler.operators.broadcast import ANY, FLOATS, INTEGERS, NUMBERS, Elementwise, elementwise

__all__ = [
    "Direction",
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


class Direction(Enum):
    """Of a shift."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"


equal = Elementwise("equal", te.equal, ANY)
"""Whether a equals b."""
less = Elementwise("less", operator.lt, NUMBERS)
"""Whether a is less."""
less_or_equal = Elementwise("less_or_equal", operator.le, NUMBERS)
"""Whether a is less or equal."""
greater = Elementwise("greater", operator.gt, NUMBERS)
"""Whether a is greater."""
greater_or_equal = Elementwise("greater_or_equal", operator.ge, NUMBERS)
"""Whether a is greater or equal."""
logical_and = Elementwise("logical_and", operator.and_, (Kind.BOOL,))
"""Whether both hold."""
logical_or = Elementwise("logical_or", operator.or_, (Kind.BOOL,))
"""Whether one holds."""
logical_xor = Elementwise("logical_xor", operator.xor, (Kind.BOOL,))
"""Whether exactly one holds."""
logical_not = Elementwise("logical_not", operator.invert, (Kind.BOOL,))
"""Whether x does not hold."""
bitwise_and = Elementwise("bitwise_and", operator.and_, INTEGERS)
"""Bits that both have."""
bitwise_or = Elementwise("bitwise_or", operator.or_, INTEGERS)
"""Bits that one has."""
bitwise_xor = Elementwise("bitwise_xor", operator.xor, INTEGERS)
"""Bits that exactly one has."""
bitwise_not = Elementwise("bitwise_not", operator.invert, INTEGERS)
"""Bits that x lacks."""


@elementwise(Kind.UINT)
def bit_shift(a: Expr, b: Expr, *, direction: Direction) -> Expr:
    """a shifted by b bits; all leave from its width on."""
    return a << b if direction is Direction.LEFT else a >> b


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

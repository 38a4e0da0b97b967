"""Shifts, choices and tests of floats, element by element."""

from __future__ import annotations

from enum import Enum

from compiler import te
from compiler.errors import IRError
from compiler.ir.dtypes import BOOL, Kind
from compiler.ir.expr import Expr
from compiler.operators.broadcast import ANY, FLOATS, elementwise

__all__ = [
    "Direction",
    "bit_shift",
    "is_inf",
    "is_nan",
    "where",
]


class Direction(Enum):
    """Of a shift."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"


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

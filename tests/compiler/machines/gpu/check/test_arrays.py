"""Values of index expressions for many iterations, against Python's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INDEX, INT8, INT32
from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Load, Select, Unary, Var
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.machines.gpu.check.arrays import UnknownError, value

FIRST, SECOND = Var("i", INDEX), Var("j", INDEX)
A, B = (each.ravel() for each in np.meshgrid(np.arange(-5, 6), np.arange(-3, 4)))
VARIABLES = {"i": A, "j": B}


def constant(number: int) -> Const:
    return Const(number, INDEX)


def same(expr: Expr, meaning: Callable[[int, int], Any]) -> None:
    found = np.broadcast_to(value(expr, VARIABLES), A.shape)
    assert found.tolist() == [meaning(int(a), int(b)) for a, b in zip(A, B, strict=True)]


@pytest.mark.parametrize(
    ("op", "meaning"),
    [
        (BinaryOp.ADD, lambda a, b: a + b),
        (BinaryOp.SUB, lambda a, b: a - b),
        (BinaryOp.MUL, lambda a, b: a * b),
        # Towards minus infinity, and 0 by 0.
        (BinaryOp.FLOORDIV, lambda a, b: a // b if b else 0),
        (BinaryOp.MOD, lambda a, b: a % b if b else 0),
        (BinaryOp.MIN, min),
        (BinaryOp.MAX, max),
        (BinaryOp.LT, lambda a, b: a < b),
        (BinaryOp.LE, lambda a, b: a <= b),
        (BinaryOp.EQ, lambda a, b: a == b),
        (BinaryOp.NE, lambda a, b: a != b),
    ],
)
def test_operations(op: BinaryOp, meaning: Callable[[int, int], Any]) -> None:
    same(Binary(op, FIRST, SECOND), meaning)


def test_conditions_and_choices() -> None:
    first, second = Binary(BinaryOp.LT, FIRST, SECOND), Binary(BinaryOp.EQ, SECOND, constant(0))
    same(Binary(BinaryOp.AND, first, second), lambda a, b: a < b and b == 0)
    same(Binary(BinaryOp.OR, first, second), lambda a, b: a < b or b == 0)
    same(Unary(UnaryOp.NOT, first), lambda a, b: not a < b)
    same(Unary(UnaryOp.NEG, FIRST), lambda a, _: -a)
    same(Select(first, FIRST, constant(9)), lambda a, b: a if a < b else 9)
    assert value(constant(7), {}) == 7


def test_casts_to_as_many_bits_or_more() -> None:
    small = Var("i", INT32)
    same(Cast(small, INDEX), lambda a, _: a)
    same(Cast(small, INT32), lambda a, _: a)
    for cast in (Cast(small, INT8), Cast(small, FLOAT32), Cast(Var("i", FLOAT32), INDEX)):
        with pytest.raises(UnknownError):
            value(cast, VARIABLES)


@pytest.mark.parametrize(
    "expr",
    [
        Var("k", INDEX),
        Load(Buffer("data", (4,), INDEX), (FIRST,)),
        Binary(BinaryOp.ADD, Var("i", FLOAT32), Var("j", FLOAT32)),
        Binary(BinaryOp.SHR, FIRST, SECOND),
        Unary(UnaryOp.NEG, Var("i", FLOAT32)),
        Unary(UnaryOp.NOT, FIRST),
        # What is not known within what is.
        Select(Var("known", BOOL), FIRST, SECOND),
        Binary(BinaryOp.MUL, FIRST, Var("k", INDEX)),
    ],
)
def test_what_is_not_known(expr: Expr) -> None:
    with pytest.raises(UnknownError):
        value(expr, VARIABLES)

"""Normal forms of expressions, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INDEX, INT8, INT32, INT64, UINT8, DType
from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Load, Reinterpret, Select, Unary, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import Linear
from tandem.compiler.ir.normal import Normaliser
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import cast, const, equal, load, select

ROW, COLUMN = Var("i"), Var("j")
A = Buffer("A", (8, 8), INT8)
X, Y = load(A, ROW, COLUMN), load(A, COLUMN, ROW)
RANGES = {"i": Interval(0, 7), "j": Interval(0, 7)}
TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)


def normal(expr: Expr) -> Expr:
    return Normaliser(RANGES).expr(expr)


def number(value: int, dtype: DType = INT8) -> Const:
    return Const(value, dtype)


ADD, SUB, MUL, DIV, MOD = (
    BinaryOp.ADD,
    BinaryOp.SUB,
    BinaryOp.MUL,
    BinaryOp.FLOORDIV,
    BinaryOp.MOD,
)
AND, OR, XOR, SHL, SHR = BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR, BinaryOp.SHL, BinaryOp.SHR


@pytest.mark.parametrize("op", [ADD, SUB, OR, XOR, SHL, SHR])
def test_zero_on_the_right_changes_nothing(op: BinaryOp) -> None:
    assert normal(Binary(op, X, number(0))) == X
    assert normal(Binary(op, X, number(1))) == Binary(op, X, number(1))


@pytest.mark.parametrize("op", [ADD, SUB, MUL, DIV, MOD, AND, OR, XOR, SHL, SHR])
def test_zero_on_the_left(op: BinaryOp) -> None:
    whole = Binary(op, number(0), X)
    wanted = {ADD: X, OR: X, XOR: X, MUL: number(0), AND: number(0)}
    assert normal(whole) == wanted.get(op, whole)


@pytest.mark.parametrize("op", [ADD, SUB, MUL, DIV, MOD, AND, OR, XOR, SHL, SHR])
def test_ones(op: BinaryOp) -> None:
    right, left = Binary(op, X, number(1)), Binary(op, number(1), X)
    assert normal(right) == {MUL: X, DIV: X, MOD: number(0)}.get(op, right)
    assert normal(left) == {MUL: X}.get(op, left)


@pytest.mark.parametrize("op", [MUL, AND, DIV, MOD])
def test_zero_on_the_right_of_others(op: BinaryOp) -> None:
    whole = Binary(op, X, number(0))
    assert normal(whole) == {MUL: number(0), AND: number(0)}.get(op, whole)


def test_constants_are_folded() -> None:
    assert normal(Binary(ADD, number(100), number(100))) == number(-56)
    assert normal(Binary(SUB, number(3), number(5))) == number(-2)
    assert normal(Binary(BinaryOp.LT, number(3), number(5))) == TRUE
    assert normal(Binary(BinaryOp.LT, number(5), number(5))) == FALSE
    assert normal(Unary(UnaryOp.NEG, number(-128))) == number(-128)
    assert normal(Unary(UnaryOp.NOT, number(5))) == number(-6)
    assert normal(Binary(ADD, number(1, INT32), number(2, INT32))) == number(3, INT32)


def test_floats_stay_as_they_are() -> None:
    half = const(0.5, FLOAT32)
    for whole in (
        Binary(ADD, half, half),
        Binary(MUL, cast(X, FLOAT32), const(1.0, FLOAT32)),
        Unary(UnaryOp.NEG, half),
    ):
        assert normal(whole) == whole


def test_casts() -> None:
    assert normal(Cast(X, INT8)) == X
    assert normal(Cast(X, UINT8)) == Cast(X, UINT8)
    assert normal(Cast(number(-1), UINT8)) == number(255, UINT8)
    assert normal(Cast(number(3), FLOAT32)) == Const(3.0, FLOAT32)
    assert normal(Cast(const(3.7, FLOAT32), INT8)) == number(3)
    assert normal(Cast(const(math.inf, FLOAT32), INT8)) == number(127)
    assert normal(Cast(number(2), BOOL)) == TRUE
    # 1 / 3 in float32 is a Python float of the same value.
    third = normal(Cast(Const(1 / 3, DType(FLOAT32.kind, 64)), FLOAT32))
    assert third == Const(float(np.float32(1 / 3)), FLOAT32)


def test_what_is_inside_is_normal_too() -> None:
    inner = Binary(ADD, X, number(0))
    assert normal(Load(A, (ROW + 0, 2 * COLUMN - COLUMN))) == X
    assert normal(Reinterpret(inner, UINT8)) == Reinterpret(X, UINT8)
    assert normal(Cast(inner, UINT8)) == Cast(X, UINT8)
    assert normal(Unary(UnaryOp.ABS, inner)) == Unary(UnaryOp.ABS, X)


def test_choices() -> None:
    sure, open_ = ROW < 8, ROW < 4
    assert normal(select(sure, X, Y)) == X
    assert normal(select(8 <= ROW, X, Y)) == Y
    assert normal(select(open_, X, Y)) == Select(ROW < 4, X, Y)
    assert normal(select(open_, X, X + 0)) == X
    # Of indices likewise.
    assert normal(select(sure, ROW, COLUMN)) == ROW
    assert normal(select(8 <= ROW, ROW, COLUMN)) == COLUMN
    assert normal(select(open_, ROW + COLUMN, COLUMN + ROW)) == ROW + COLUMN
    assert normal(select(open_, ROW, COLUMN)) == Select(ROW < 4, ROW, COLUMN)


def test_indices_are_sums() -> None:
    assert normal(ROW + COLUMN - ROW) == COLUMN
    assert normal((ROW * 4 + 2) - (ROW * 4)) == Const(2, INDEX)
    assert normal(-(ROW - COLUMN)) == COLUMN - ROW
    assert normal((ROW + 8 * COLUMN) // 8) == COLUMN
    assert normal((ROW + 8 * COLUMN) % 8) == ROW
    assert Normaliser(RANGES).linear(Const(5, INDEX)) == Linear((), 5)
    assert Normaliser(RANGES).linear(ROW) == Linear.atom(ROW)


def test_casts_to_indices() -> None:
    assert normal(Cast(ROW, INT64)) == ROW
    assert normal(Cast(number(5), INDEX)) == Const(5, INDEX)
    narrow = Cast(X, INDEX)
    assert normal(narrow + narrow) == narrow * 2
    limit = 1 << 31
    real = DType(FLOAT32.kind, 64)
    for value in (limit, -limit):
        assert normal(Cast(Const(float(value), real), INDEX)) == Const(value, INDEX)
    # Beyond, sums could overflow.
    for value in (limit + 1, -limit - 1):
        whole = Cast(Const(float(value), real), INDEX)
        assert normal(whole) == whole


def test_comparisons_of_indices() -> None:
    assert normal(ROW < 8) == TRUE
    assert normal(8 <= ROW) == FALSE
    assert normal(equal(ROW + COLUMN, COLUMN + ROW)) == TRUE
    assert normal(ROW + 1 < COLUMN + 1) == (ROW < COLUMN)


def test_conditions() -> None:
    first, second = ROW < 4, COLUMN < 4
    both = Binary(AND, first, second)
    assert normal(both) == both
    assert normal(Binary(AND, both, first)) == both
    assert normal(Binary(AND, both, ROW < 8)) == both
    assert normal(Binary(AND, both, 8 <= ROW)) == FALSE
    either = Binary(OR, first, second)
    assert normal(Binary(OR, first, either)) == either
    assert normal(Binary(OR, either, 8 <= ROW)) == either
    assert normal(Binary(OR, either, ROW < 8)) == TRUE
    assert normal(Binary(AND, ROW < 8, COLUMN < 8)) == TRUE
    assert normal(Binary(OR, 8 <= ROW, 8 <= COLUMN)) == FALSE
    assert normal(Unary(UnaryOp.NOT, first)) == (4 <= ROW)
    assert normal(Unary(UnaryOp.NOT, TRUE)) == FALSE
    # Another operation of bools is none of these two.
    assert normal(Binary(XOR, first, second)) == Binary(XOR, first, second)
    assert normal(Binary(BinaryOp.EQ, first, first)) == Binary(BinaryOp.EQ, first, first)


def test_what_is_normal_is_the_same_object() -> None:
    for expr in (X, ROW + COLUMN, ROW < 4, Binary(ADD, X, Y)):
        assert normal(expr) is expr
        assert normal(expr) is expr
    # What was found for other ranges is no matter.
    small = ROW < 4
    assert normal(small) is small
    assert Normaliser({"i": Interval(0, 3)}).expr(small) == TRUE
    assert Normaliser({}).expr(small) is small
    product = (ROW + 8 * COLUMN) // 8
    assert Normaliser({}).expr(product) != COLUMN
    assert normal(product) == COLUMN

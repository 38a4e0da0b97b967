"""How expressions are built, and which are refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import IRError
from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    UINT8,
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    Kind,
    Load,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from tandem.compiler.ir import ops as o
from tandem.compiler.ir.expr import binary, binary_dtype, constant, represented, unary, unary_dtype
from tests.support.compiler.ir.ir_strategies import TYPES, expressions

X, Y = Var("x"), Var("y")
F = Load(Buffer("F", (), FLOAT32), ())
B = Load(Buffer("B", (), INT8), ())
P = Load(Buffer("P", (), BOOL), ())


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (X + Y, Binary(BinaryOp.ADD, X, Y)),
        (X + 1, Binary(BinaryOp.ADD, X, Const(1))),
        (1 + X, Binary(BinaryOp.ADD, Const(1), X)),
        (1 - X, Binary(BinaryOp.SUB, Const(1), X)),
        (X - 1, Binary(BinaryOp.SUB, X, Const(1))),
        (2 * B, Binary(BinaryOp.MUL, Const(2, INT8), B)),
        (F / 2, Binary(BinaryOp.DIV, F, Const(2.0, FLOAT32))),
        (1 / F, Binary(BinaryOp.DIV, Const(1.0, FLOAT32), F)),
        (X // 3, Binary(BinaryOp.FLOORDIV, X, Const(3))),
        (X % 3, Binary(BinaryOp.MOD, X, Const(3))),
        (P & True, Binary(BinaryOp.AND, P, Const(True, BOOL))),
        (B | 1, Binary(BinaryOp.OR, B, Const(1, INT8))),
        (B ^ B, Binary(BinaryOp.XOR, B, B)),
        (X << 1, Binary(BinaryOp.SHL, X, Const(1))),
        (X >> 1, Binary(BinaryOp.SHR, X, Const(1))),
        (X < Y, Binary(BinaryOp.LT, X, Y)),
        (X <= 4, Binary(BinaryOp.LE, X, Const(4))),
        (X > 4, Binary(BinaryOp.LT, Const(4), X)),
        (X >= Y, Binary(BinaryOp.LE, Y, X)),
        (-F, Unary(UnaryOp.NEG, F)),
        (~P, Unary(UnaryOp.NOT, P)),
        (o.equal(B, 3), Binary(BinaryOp.EQ, B, Const(3, INT8))),
        (o.not_equal(X, Y), Binary(BinaryOp.NE, X, Y)),
        (o.minimum(X, 0), Binary(BinaryOp.MIN, X, Const(0))),
        (o.maximum(0.5, F), Binary(BinaryOp.MAX, Const(0.5, FLOAT32), F)),
        (o.power(F, 2), Binary(BinaryOp.POW, F, Const(2.0, FLOAT32))),
        (o.cast(X, INT8), Cast(X, INT8)),
        (o.cast(X, INDEX), X),
        (o.select(P, 1, X), Select(P, Const(1), X)),
        (o.select(X < 1, B, 0), Select(X < 1, B, Const(0, INT8))),
        (o.load(Buffer("A", (2, 2), INT8), X, 1), Load(Buffer("A", (2, 2), INT8), (X, Const(1)))),
        (o.all_of(), Const(True, BOOL)),
        (o.all_of(P), P),
        (o.all_of(P, X < 1, P), (P & (X < 1)) & P),
        (o.any_of(), Const(False, BOOL)),
        (o.any_of(P, X < 1), P | (X < 1)),
    ],
)
def test_operators(built: Expr, expected: Expr) -> None:
    assert built == expected


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: X + F, r"^int64 is expected here, not float32: cast\(\) converts$"),
        (lambda: F + X, r"^float32 is expected here, not int64: cast\(\) converts$"),
        (lambda: B + 128, r"^128 is no int8: -128\.\.127$"),
        (lambda: X + 0.5, r"^0\.5 is no int64: "),
        (lambda: P + True, r"^\+ is not defined for bool$"),
        (lambda: P & 2, r"^2 is no bool$"),
        (lambda: X / 2, r"^/ is not defined for int64$"),
        (lambda: F // 2, r"^// is not defined for float32$"),
        (lambda: F & 1, r"^& is not defined for float32$"),
        (lambda: F << 1, r"^<< is not defined for float32$"),
        (lambda: P % True, r"^% is not defined for bool$"),
        (lambda: o.power(X, 2), r"^pow is not defined for int64$"),
        (lambda: -P, r"^- is not defined for bool$"),
        (lambda: ~F, r"^~ is not defined for float32$"),
        (lambda: unary(UnaryOp.ABS, P), r"^abs is not defined for bool$"),
        (lambda: unary(UnaryOp.EXP, X), r"^exp is not defined for int64$"),
        (lambda: binary(BinaryOp.ADD, 1, 2), r"^\+ of two plain numbers, which have no type$"),
        (lambda: o.select(P, 1, 2), r"^select of two plain numbers, which have no type$"),
        (lambda: o.select(X, X, X), r"^bool is expected here, not int64"),
        (lambda: o.select(P, X, F), r"^int64 is expected here, not float32"),
        (lambda: o.load(Buffer("A", (2, 2), INT8), X), r"^A has 2 dimensions \(2, 2\), not 1$"),
        (lambda: o.load(Buffer("A", (2,), INT8), B), r"^int64 is expected here, not int8"),
        (lambda: constant(math.inf, INT8), r"^inf is no int8: -128\.\.127$"),
        (lambda: constant(math.nan, UINT8), r"^nan is no uint8: 0\.\.255$"),
        (lambda: constant(1e39, FLOAT32), r"^1e\+39 is no float32: its magnitude is too large$"),
        (lambda: constant(10**400, FLOAT64), r"is no float64: its magnitude is too large$"),
        (lambda: constant(3, BOOL), r"^3 is no bool$"),
        (lambda: DType(Kind.INT, 65), r"^there is no int of 65 bits$"),
        (lambda: DType(Kind.FLOAT, 16), r"^there is no float of 16 bits$"),
        (lambda: Buffer("A", (2, -1), INT8), r"^A has a negative extent: \(2, -1\)$"),
    ],
)
def test_refusals(build: Callable[[], object], message: str) -> None:
    with pytest.raises(IRError, match=message):
        build()


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"use select\(\) and `&`"):
        bool(X < Y)
    with pytest.raises(TypeError, match="truth value"):
        _ = 0 < X < 4


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (3, FLOAT32, 3.0),
        (0.1, FLOAT32, 0.10000000149011612),
        (3.0, INT8, 3),
        (1, BOOL, True),
        (-128, INT8, -128),
        (math.inf, FLOAT32, math.inf),
        (3.4028235e38, FLOAT32, 3.4028234663852886e38),
    ],
)
def test_constants(value: float, dtype: DType, expected: float) -> None:
    const = constant(value, dtype)
    assert const.value == expected
    assert type(const.value) is type(expected)
    assert const.dtype == dtype


def test_constants_that_are_nan_are_equal() -> None:
    one, other = constant(math.nan, FLOAT32), Const(float("nan"), FLOAT32)
    assert one == other
    assert hash(one) == hash(other)


def test_zeros_of_different_sign_are_different_constants() -> None:
    assert constant(0.0, FLOAT32) == constant(0, FLOAT32)
    assert constant(0.0, FLOAT32) != constant(-0.0, FLOAT32)
    assert 1.0 / constant(0.0, FLOAT32) != 1.0 / constant(-0.0, FLOAT32)
    assert constant(0.0, FLOAT32) != constant(0.0, FLOAT64)
    assert constant(0, INT8) != constant(0, UINT8)


@given(st.data(), st.sampled_from(TYPES))
def test_types_follow_from_the_parts(data: st.DataObject, dtype: DType) -> None:
    expr = data.draw(expressions(dtype, {"x": 3}, [F.buffer, B.buffer]))
    assert expr.dtype == dtype
    assert hash(expr) == hash(expr)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", [*BinaryOp, *UnaryOp])
def test_types_without_nodes_are_those_of_nodes(op: BinaryOp | UnaryOp, dtype: DType) -> None:
    value = o.cast(X, dtype)

    def node() -> Expr:
        return unary(op, value) if isinstance(op, UnaryOp) else binary(op, value, value)

    def alone() -> DType:
        return unary_dtype(op, dtype) if isinstance(op, UnaryOp) else binary_dtype(op, dtype, dtype)

    try:
        expected = node().dtype
    except IRError as error:
        with pytest.raises(IRError, match=f"^{re.escape(str(error))}$"):
            alone()
    else:
        assert alone() == expected


def test_types_that_differ_give_none() -> None:
    with pytest.raises(IRError, match=r"^int64 is expected here, not float32: cast\(\) converts$"):
        binary_dtype(BinaryOp.LT, INDEX, FLOAT32)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [(1, BOOL, True), (3.0, INT8, 3), (True, FLOAT32, 1.0), (0.1, FLOAT32, constant(0.1, FLOAT32))],
)
def test_what_constants_hold(value: float, dtype: DType, expected: object) -> None:
    found = represented(value, dtype)
    wanted = expected.value if isinstance(expected, Const) else expected
    assert (found, type(found)) == (wanted, type(wanted))


@pytest.mark.parametrize("dtype", TYPES)
def test_wrapping(dtype: DType) -> None:
    if dtype.is_integer:
        assert dtype.high - dtype.low == 2**dtype.bits - 1
        assert [dtype.wrap(dtype.high + 1), dtype.wrap(dtype.low - 1)] == [dtype.low, dtype.high]

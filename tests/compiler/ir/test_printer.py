"""The text form."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    UINT8,
    Alloc,
    Binary,
    BinaryOp,
    Block,
    BlockIter,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    For,
    If,
    Invoke,
    IterKind,
    Kind,
    Load,
    LoopKind,
    PrimFunc,
    Region,
    Scope,
    Select,
    Seq,
    Store,
    Unary,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.ops import equal, index, load, maximum, minimum, not_equal, power, select
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip

X, Y, Z = Var("x"), Var("y"), Var("z")
A = Buffer("A", (8, 8), FLOAT32)
B = Buffer("B", (8,), INT8)
S = Buffer("S", (), FLOAT64)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (X + Y * Z, "x + y * z"),
        ((X + Y) * Z, "(x + y) * z"),
        (X - (Y - Z), "x - (y - z)"),
        (X - Y - Z, "x - y - z"),
        (X + (Y + Z), "x + (y + z)"),
        (X // Y % Z, "x // y % z"),
        (X // (Y % Z), "x // (y % z)"),
        (X << Y + Z, "x << y + z"),
        ((X << Y) + Z, "(x << y) + z"),
        (X & Y | Z ^ X, "x & y | z ^ x"),
        (X & (Y | Z), "x & (y | z)"),
        (X ^ (Y & Z), "x ^ y & z"),
        ((X ^ Y) & Z, "(x ^ y) & z"),
        ((X | Y) ^ Z, "(x | y) ^ z"),
        ((X < Y) & (Y <= Z), "(x < y) & (y <= z)"),
        (X & Y < Z, "x & y < z"),
        (equal(X < Y, Y < Z), "(x < y) == (y < z)"),
        (not_equal(X, 3), "x != 3"),
        (-X * Y, "-x * y"),
        (-(X * Y), "-(x * y)"),
        (Unary(UnaryOp.NEG, -X), "--x"),
        (~X & Y, "~x & y"),
        (X - (-Y), "x - -y"),
        (X + -3, "x + -3"),
        (Unary(UnaryOp.NEG, Const(3)), "-(3)"),
        (Unary(UnaryOp.NEG, Const(-3)), "--3"),
        (Unary(UnaryOp.NOT, Const(3)), "~3"),
        (load(A, X, Y + 1), "A[x, y + 1]"),
        (load(S), "S[]"),
        (minimum(X, Y * 2), "min(x, y * 2)"),
        (maximum(maximum(X, Y), Z), "max(max(x, y), z)"),
        (power(load(S), 2.0), "pow(S[], 2.0)"),
        (Unary(UnaryOp.EXP, load(S) + 1), "exp(S[] + 1.0)"),
        (select(X < 3, X, 0), "select(x < 3, x, 0)"),
        (Cast(X + 1, INT8), "int8(x + 1)"),
        (Cast(load(B, X), BOOL), "bool(B[x])"),
    ],
)
def test_operators_and_parentheses(expr: Expr, expected: str) -> None:
    assert text(expr) == expected


INT5 = DType(Kind.INT, 5)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (Const(3), "3"),
        (Const(-3, INT8), "int8(-3)"),
        (Const(3, INT5), "int5(3)"),
        (Const(True, BOOL), "True"),
        (Const(1.5, FLOAT64), "float64(1.5)"),
        (load(B, 0) + 1, "B[0] + 1"),
        (1 + load(B, 0), "1 + B[0]"),
        (load(B, 0) + 1 < 2, "B[0] + 1 < 2"),
        (Const(1, INT8) < Const(2, INT8), "int8(1) < int8(2)"),
        (Const(1) < Const(2), "1 < 2"),
        (Cast(Const(3), INT8), "int8(int64(3))"),
        (Cast(Const(-3, INT32), FLOAT32), "float32(int32(-3))"),
        (Cast(Const(3, INT8), INT8), "int8(int8(3))"),
        (Cast(Const(False, BOOL), UINT8), "uint8(False)"),
        (Cast(Const(1) + Const(2), INT8), "int8(1 + 2)"),
        (
            Cast(Const(0.5, FLOAT32) * Const(2.0, FLOAT32), INT8),
            "int8(float32(0.5) * float32(2.0))",
        ),
        (Select(X < 0, Const(1, INT8), load(B, 0)), "select(x < 0, 1, B[0])"),
        (
            Select(X < 0, Const(1, INT8), Const(2, INT8)),
            "select(x < 0, int8(1), int8(2))",
        ),
    ],
)
def test_a_constant_says_its_type_where_nothing_else_does(expr: Expr, expected: str) -> None:
    assert text(expr) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (1e30, "1e+30"),
        (0.5, "0.5"),
        (16777216.0, "16777216.0"),
    ],
)
def test_floats(value: float, expected: str) -> None:
    assert text(Store(S, (), Const(value, FLOAT64))) == f"S[] = {expected}\n"


def test_float32_has_the_digits_it_needs() -> None:
    tenth = load(A, 0, 0) * 0.1
    assert text(tenth) == "A[0, 0] * 0.1"
    assert text(Binary(BinaryOp.MUL, load(S), Const(0.1, FLOAT64))) == "S[] * 0.1"


def test_negated_infinities_are_not_constants() -> None:
    assert text(Store(S, (), Unary(UnaryOp.NEG, Const(math.inf, FLOAT64)))) == "S[] = -(inf)\n"


def test_statements(golden: Callable[[str, str], None]) -> None:
    inner = Buffer("T", (4,), INT8, Scope.LOCAL)
    output = Buffer("C", (8, 8), FLOAT32)
    i, k = Var("i"), Var("k")
    store = Store(inner, (index(0),), Const(1, INT8))
    block = Block(
        "C",
        (
            BlockIter(i, 8, IterKind.SPATIAL, Var("C.i_o") * 3 + Var("C.i_i")),
            BlockIter(k, 8, IterKind.REDUCE, Var("C.k")),
        ),
        (Var("C.i_o") * 3 + Var("C.i_i") < 8, Var("C.k") < 9),
        Store(output, (i, i), Const(0.0, FLOAT32)),
        Store(output, (i, i), load(output, i, i) + load(A, i, k)),
    )
    nest = block
    for name, extent, kind in (
        ("C.k", 8, LoopKind.UNROLLED),
        ("C.i_i", 3, LoopKind.VECTORIZED),
        ("C.i_o", 3, LoopKind.PARALLEL),
    ):
        nest = For(Var(name), index(extent), kind, nest)  # type: ignore[assignment]
    copy = PrimFunc("copy", (Buffer("x", (8,), FLOAT32),), (Buffer("y", (8,), FLOAT32),), Seq(()))
    regions = (Region(A, (Var("r"), index(0)), (1, 8)), Region(output, (Var("r"), X), (1, 8)))
    function = PrimFunc(
        "all",
        (A, Buffer("D", (), FLOAT64)),
        (output,),
        Seq(
            (
                Alloc(inner, Seq((store, If(load(inner, 0) < 3, store)))),
                nest,
                For(
                    Var("r"),
                    index(2),
                    LoopKind.VIRTUAL_THREAD,
                    Alloc(Buffer("V", (2,), UINT8, OnChip.ACC), Invoke(copy, regions)),
                ),
                Seq(()),
                Seq((Seq(()), For(Var("e"), index(1), LoopKind.SERIAL, Seq(())))),
            )
        ),
    )
    golden("ir/statements.txt", text(function))


def test_a_load_needs_no_declaration() -> None:
    assert text(Load(Buffer("C.tmp", (3,), INT8), (X,))) == "C.tmp[x]"

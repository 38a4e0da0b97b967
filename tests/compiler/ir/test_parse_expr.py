"""Expressions from text: what they are, to the node, and what is refused, to the column."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import ParseError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INDEX, INT8, UINT8, DType
from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Load, Select, Unary, Var
from tandem.compiler.ir.lexer import Cursor
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.parse_expr import element, expression, known_buffer, type_named
from tandem.compiler.ir.syntax import MAX_DEPTH

A, F, T = Buffer("A", (4, 4), INT8), Buffer("F", (), FLOAT32), Buffer("T", (2,), BOOL)
BUFFERS = {"A": A, "F": F, "T": T}
i, j = Var("i"), Var("j")
a = Load(A, (i, j))
f = Load(F, ())


def read(text: str, expected: DType = INDEX) -> Expr:
    cursor = Cursor(text)
    found = expression(cursor, BUFFERS, expected)
    assert cursor.token.text == ""
    return found


def number(value: int) -> Const:
    return Const(value, INDEX)


def op(symbol: str, left: Expr, right: Expr) -> Binary:
    return Binary(BinaryOp(symbol), left, right)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7", number(7)),
        ("-7", number(-7)),
        ("i", i),
        ("-i", Unary(UnaryOp.NEG, i)),
        ("~-i", Unary(UnaryOp.NOT, Unary(UnaryOp.NEG, i))),
        ("i - j - 1", op("-", op("-", i, j), number(1))),
        ("i - (j - 1)", op("-", i, op("-", j, number(1)))),
        ("i + j * 2", op("+", i, op("*", j, number(2)))),
        ("i * j + 2", op("+", op("*", i, j), number(2))),
        ("i << 1 + j", op("<<", i, op("+", number(1), j))),
        ("i | j ^ i & j", op("|", i, op("^", j, op("&", i, j)))),
        ("2 * -3", op("*", number(2), number(-3))),
        ("min(i, 3)", op("min", i, number(3))),
        ("max(3, i)", op("max", number(3), i)),
        ("abs(i)", Unary(UnaryOp.ABS, i)),
        ("int64(A[i, j])", Cast(a, INDEX)),
        ("int64(3)", number(3)),
        ("int64(-3)", number(-3)),
        ("select(T[i], i, 3)", Select(Load(T, (i,)), i, number(3))),
        ("select(True, 3, i)", Select(Const(True, BOOL), number(3), i)),
        # A name is a variable where no bracket follows.
        ("min + select", op("+", Var("min"), Var("select"))),
    ],
)
def test_integers(text: str, wanted: Expr) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("i < 3", op("<", i, number(3))),
        ("i > 3", op("<", number(3), i)),
        ("i >= j", op("<=", j, i)),
        ("i + 1 != j", op("!=", op("+", i, number(1)), j)),
        ("1 < 2", op("<", number(1), number(2))),
        ("A[i, j] == 5", op("==", a, Const(5, INT8))),
        ("5 <= A[i, j]", op("<=", Const(5, INT8), a)),
        ("F[] < 2", op("<", f, Const(2.0, FLOAT32))),
        ("(i < 3) & (j < 3)", op("&", op("<", i, number(3)), op("<", j, number(3)))),
        ("(i < 3) == T[0]", op("==", op("<", i, number(3)), Load(T, (number(0),)))),
        ("False", Const(False, BOOL)),
        ("~True", Unary(UnaryOp.NOT, Const(True, BOOL))),
        ("bool(i)", Cast(i, BOOL)),
        ("bool(A[i, j] + 1)", Cast(op("+", a, Const(1, INT8)), BOOL)),
    ],
)
def test_bools(text: str, wanted: Expr) -> None:
    assert read(text, BOOL) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("3", Const(3.0, FLOAT32)),
        ("-1e-2", Const(float(np.float32(-0.01)), FLOAT32)),
        ("inf", Const(float("inf"), FLOAT32)),
        ("-inf", Const(float("-inf"), FLOAT32)),
        ("float32(3)", Const(3.0, FLOAT32)),
        ("float32(inf)", Const(float("inf"), FLOAT32)),
        ("float32(i + 1)", Cast(op("+", i, number(1)), FLOAT32)),
        ("float32(1 + 1)", Cast(op("+", number(1), number(1)), FLOAT32)),
        ("F[] / 2", op("/", f, Const(2.0, FLOAT32))),
        ("pow(2, F[])", op("pow", Const(2.0, FLOAT32), f)),
        ("exp(1)", Unary(UnaryOp.EXP, Const(1.0, FLOAT32))),
        ("select(F[] < 0, -F[], 1.5)", None),
    ],
)
def test_floats(text: str, wanted: Expr | None) -> None:
    if wanted is None:
        condition = op("<", f, Const(0.0, FLOAT32))
        wanted = Select(condition, Unary(UnaryOp.NEG, f), Const(1.5, FLOAT32))
    # Not by `==`: it cannot tell -0.0 from 0.0.
    assert repr(read(text, FLOAT32)) == repr(wanted)


def test_bits() -> None:
    found = read("bits_int8(uint8(A[i, j]))", INT8)
    assert found.dtype == INT8
    assert "bits" in repr(found).lower() or "Reinterpret" in repr(found)
    with pytest.raises(ParseError, match="found 'floaty', expected a type"):
        read("bits_floaty(i)")
    with pytest.raises(ParseError, match="found 2 arguments, expected 1 of bits_int8"):
        read("bits_int8(i, j)", INT8)


@pytest.mark.parametrize(
    ("text", "expected", "column", "message"),
    [
        ("", INDEX, 1, r"found the end of the text, expected a number, a name, '\(', '-' or '~'"),
        ("i +", INDEX, 4, "found the end of the line, expected a number"),
        ("i + )", INDEX, 5, r"found '\)', expected a number"),
        ("(i", INDEX, 3, r"found the end of the line, expected '\)'"),
        ("i < j < 3", BOOL, 7, "found '<', expected no second comparison: comparisons do not ch"),
        ("i == j > 3", BOOL, 8, "found '>', expected no second comparison"),
        ("A[i, j]", INDEX, 1, r"found int8, expected int64: int64\(..\) converts"),
        ("i + A[i, j]", INDEX, 5, "found int8, expected int64"),
        ("i", BOOL, 1, "found int64, expected bool"),
        ("i < j", INDEX, 3, "found bool, expected int64"),
        ("1.5", INDEX, 1, "found '1.5', expected int64"),
        ("inf", INDEX, 1, "found 'inf', expected int64"),
        ("1", BOOL, 1, "found '1', expected bool"),
        ("True", INDEX, 1, "found bool, expected int64"),
        ("200", INT8, 1, "200 is no int8: -128..127"),
        ("-129", INT8, 2, "-129 is no int8"),
        ("uint8(-1)", UINT8, 8, "-1 is no uint8: 0..255"),
        ("select(i, 1, 2)", INDEX, 8, "found int64, expected bool"),
        ("select(True, 1)", INDEX, 1, "found 2 arguments, expected 3 of select"),
        ("min(i)", INDEX, 1, "found 1 arguments, expected 2 of min"),
        ("abs()", INDEX, 1, "found 0 arguments, expected 1 of abs"),
        ("int64(i, j)", INDEX, 1, "found 2 arguments, expected 1 of int64"),
        ("frob(i)", INDEX, 1, "found 'frob', expected one of select, pow, min, max, abs, exp, "),
        ("frob(i)", INDEX, 1, r"round, or a type \(int8, uint8, float32, bool or the like\)"),
        ("A[i]", INT8, 1, r"found 1 indices, expected 2 of A \(4, 4\)"),
        ("A[i, 1.5]", INT8, 6, "found '1.5', expected int64"),
        ("A[i, T[i]]", INT8, 6, "found bool, expected int64"),
        ("B[i]", INT8, 1, "found 'B', expected a buffer that is declared: A, F, T"),
        ("A[i, j", INT8, 7, r"found the end of the line, expected an operator, ',' or '\]'"),
        ("min(i j)", INDEX, 7, r"found 'j', expected an operator, ',' or '\)'"),
        ("exp(i)", INDEX, 1, "exp"),
        ("i / 2", INDEX, 3, "/"),
    ],
)
def test_refusals(text: str, expected: DType, column: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as found:
        expression(Cursor(text), BUFFERS, expected)
    assert (found.value.line, found.value.column) == (1, column)


def test_what_ends_an_expression() -> None:
    cursor = Cursor("i + 1 : j")
    assert expression(cursor, {}, INDEX) == op("+", i, number(1))
    assert cursor.token.text == ":"


def test_elements_and_buffers() -> None:
    assert element(Cursor("A[i + 1, 0]"), BUFFERS) == (A, (op("+", i, number(1)), number(0)))
    assert element(Cursor("F[]"), BUFFERS) == (F, ())
    assert known_buffer(Cursor("T"), BUFFERS) is T
    with pytest.raises(ParseError, match="found '3', expected the name of a buffer"):
        known_buffer(Cursor("3"), BUFFERS)
    with pytest.raises(ParseError, match="a buffer that is declared: there is none"):
        known_buffer(Cursor("A"), {})


def test_types() -> None:
    assert type_named(Cursor("uint8").token) == UINT8
    for text in ("int", "x", "int" + "9" * 60):
        with pytest.raises(ParseError, match=f"found '{text}', expected this .int8, uint8"):
            type_named(Cursor(text).token, "this")


def test_depth() -> None:
    def brackets(count: int) -> str:
        return "(" * count + "i" + ")" * count

    assert read(brackets(MAX_DEPTH)) == i
    with pytest.raises(ParseError, match=f"nested more than {MAX_DEPTH} deep"):
        read(brackets(MAX_DEPTH + 1))
    # A sum of n terms is a tree of n levels.
    read("+".join("i" * MAX_DEPTH))
    with pytest.raises(ParseError, match=f"nested more than {MAX_DEPTH} deep"):
        read("+".join("i" * (MAX_DEPTH + 1)))
    read("~" * (MAX_DEPTH - 1) + "i")
    with pytest.raises(ParseError, match=f"nested more than {MAX_DEPTH} deep"):
        read("~" * MAX_DEPTH + "i")
    calls = "abs(" * (MAX_DEPTH - 1) + "i" + ")" * (MAX_DEPTH - 1)
    read(calls)
    with pytest.raises(ParseError, match=f"nested more than {MAX_DEPTH} deep"):
        read(f"abs({calls})")

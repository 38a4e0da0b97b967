"""Text to programs: what the printer writes, what people write, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import ParseError
from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    Alloc,
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    For,
    Load,
    LoopKind,
    PrimFunc,
    Select,
    Seq,
    Store,
    Unary,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.ops import index, minimum
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.syntax import MAX_DEPTH
from tandem.compiler.ir.verify import verify
from tests.support.compiler.ir.ir_strategies import (
    INTRINSICS,
    TYPES,
    constants,
    expressions,
    functions,
)


def program(body: str) -> str:
    """A program around statements, on A: int8[4], B: float32[4, 4] and C: int8[4]."""
    lines = "".join(f"  {line}\n" for line in body.splitlines())
    return f"func f(A: int8[4], B: float32[4, 4]) -> (C: int8[4]):\n{lines}"


def value(written: str, dtype: str = "int8") -> Expr:
    """What `written` is where a `dtype` is expected."""
    function = parse(f"func f(A: int8[4]) -> (R: {dtype}[]):\n  R[] = {written}\n")
    assert isinstance(function.body, Store)
    return function.body.value


@given(functions(accelerator=True))
def test_what_is_printed_is_read_back(function: PrimFunc) -> None:
    verify(function)
    assert parse(text(function), INTRINSICS) == function


@given(st.data(), st.sampled_from(TYPES))
def test_expressions_are_read_back(data: st.DataObject, dtype: DType) -> None:
    inputs = [Buffer("I", (2, 3), INT8), Buffer("F", (4,), FLOAT32), Buffer("T", (), BOOL)]
    expr = data.draw(expressions(dtype, {"L.i": 3}, inputs, depth=6))
    output = Buffer("R", (), dtype)
    loop = For(Var("L.i"), index(3), LoopKind.SERIAL, Store(output, (), expr))
    function = PrimFunc("f", tuple(inputs), (output,), loop)
    verify(function)
    assert parse(text(function)) == function


@given(st.data(), st.sampled_from(TYPES))
def test_constants_are_read_back_to_the_bit(data: st.DataObject, dtype: DType) -> None:
    const = data.draw(constants(dtype))
    output = Buffer("R", (), dtype)
    body = parse(text(PrimFunc("f", (), (output,), Store(output, (), const)))).body
    assert isinstance(body, Store)
    # Not by `==`: it cannot tell -0.0 from 0.0.
    assert repr(body.value) == repr(const)


def test_sequences_come_back_in_their_normal_form() -> None:
    x, t = Buffer("X", (), FLOAT64), Buffer("T", (), FLOAT64)
    a, b = Store(x, (), Const(1.0, FLOAT64)), Store(t, (), Const(2.0, FLOAT64))
    nested = PrimFunc("f", (), (x,), Seq((a, Seq((Alloc(t, b), Seq(()))), Seq((a,)))))
    expected = Seq((a, Alloc(t, Seq((b, a)))))
    assert parse(text(nested)).body == expected


def test_people_may_write_more_than_the_printer() -> None:
    written = """
# A comment.
func f(A: int8[4]) -> (C: int8[4]):

    for C.i in (4) serial:   # four iterations
            if C.i > 1:
                C[((C.i))] = A[C.i]+1
"""
    printed = """\
func f(A: int8[4]) -> (C: int8[4]):
  for C.i in 4:
    if 1 < C.i:
      C[C.i] = A[C.i] + 1
"""
    assert text(parse(written)) == printed


def test_words_are_known_by_what_follows_them() -> None:
    written = """\
func func(for: int8[4], min: int8[]) -> (if: int8[4]):
  for in in 4:
    if[in] = min(for[in], min[]) + int8(in)
"""
    assert text(parse(written)) == written


def test_numbers_take_the_type_of_their_place() -> None:
    assert value("3") == Const(3, INT8)
    assert value("3", "float32") == Const(3.0, FLOAT32)
    assert value("A[0] + -3") == parse(program("C[0] = A[0] + -3")).body.value  # type: ignore[union-attr]
    assert value("-(3)") == Unary(UnaryOp.NEG, Const(3, INT8))
    assert value("int8(3)") == Const(3, INT8)
    assert value("int8((-3))") == Const(-3, INT8)
    assert value("1 < 2", "bool") == Binary(BinaryOp.LT, Const(1), Const(2))
    assert value("2 < A[0]", "bool").left.dtype == INT8  # type: ignore[union-attr]
    assert value("int16(select(True, 1, A[0]))", "int16") == Cast(
        Select(Const(True, BOOL), Const(1, INT8), Load(Buffer("A", (4,), INT8), (index(0),))), INT16
    )
    infinite = value("-inf", "float64")
    assert infinite == Const(-math.inf, FLOAT64)


@pytest.mark.parametrize(
    ("body", "line", "column", "message"),
    [
        (
            "C[0] = ",
            2,
            9,
            "found the end of the line, expected a number, a name, '\\(', '-' or '~'",
        ),
        ("C[0] = 1 +", 2, 13, "found the end of the line, expected a number, a name"),
        ("C[0] = 1 2", 2, 12, "found '2', expected the end of the line"),
        ("C[0] 1", 2, 8, "found '1', expected '='"),
        ("C[0 = 1", 2, 7, "found '=', expected an operator, ',' or '\\]'"),
        ("C[0, 1] = 1", 2, 3, "found 2 indices, expected 1 of C \\(4,\\)"),
        ("C[0] = B[0]", 2, 10, "found 1 indices, expected 2 of B \\(4, 4\\)"),
        ("D[0] = 1", 2, 3, "found 'D', expected a buffer that is declared: A, B, C"),
        ("C[0] = D[0]", 2, 10, "found 'D', expected a buffer that is declared"),
        ("C[0] = B[0, 0]", 2, 10, "found float32, expected int8: int8\\(..\\) converts"),
        ("C[0] = A[0] + B[0, 0]", 2, 17, "found float32, expected int8"),
        ("C[0] = x", 2, 10, "found int64, expected int8"),
        ("C[0] = 1 < 2", 2, 12, "found bool, expected int8"),
        ("C[0] = 128", 2, 10, "128 is no int8: -128..127"),
        ("C[0] = 1.5", 2, 10, "found '1.5', expected int8"),
        ("C[0] = inf", 2, 10, "found 'inf', expected int8"),
        ("C[0] = int8(nan)", 2, 15, "found 'nan', expected int8"),
        ("C[0] = int8(float32(1e39))", 2, 23, "1e\\+39 is no float32: its magnitude is too large"),
        ("C[0] = A[0] / A[1]", 2, 15, "/ is not defined for int8"),
        ("C[0] = exp(A[0])", 2, 10, "exp is not defined for int8"),
        ("C[0] = int8(True + False)", 2, 20, "\\+ is not defined for bool"),
        ("C[0] = int8(1 < 2 < 3)", 2, 21, "found '<', expected no second comparison"),
        ("C[0] = min(1)", 2, 10, "found 1 arguments, expected 2 of min"),
        ("C[0] = select(True, 1)", 2, 10, "found 2 arguments, expected 3 of select"),
        ("C[0] = int8()", 2, 10, "found 0 arguments, expected 1 of int8"),
        ("C[0] = foo(1)", 2, 10, "found 'foo', expected one of select, pow, min, .* or a type"),
        ("C[0] = int65(1)", 2, 10, "found 'int65', expected one of"),
        ("C[0] = int" + "9" * 5000 + "(1)", 2, 10, "expected one of"),
        ("C[0] = (1", 2, 12, "found the end of the line, expected '\\)'"),
        ("foo", 2, 3, "found 'foo', expected a statement: for, if, alloc, block, invoke, pass"),
        ("if True:\npass", 3, 3, "found 'pass', expected a statement, indented"),
        ("if 3:\n  pass", 2, 6, "found '3', expected bool"),
        ("for i in 4 fast:\n  pass", 2, 14, "found 'fast', expected one of serial, parallel,"),
        ("for True in 4:\n  pass", 2, 7, "found 'True', expected the loop's variable"),
        ("for i 4:\n  pass", 2, 9, "found '4', expected 'in'"),
        ("pass\n  pass", 3, 5, "found more indentation, expected a statement"),
        ("alloc T: int8[4]", 3, 1, "found less indentation, expected a statement, for which"),
        ("alloc T: int8[n]\npass", 2, 17, "found 'n', expected an extent"),
        ("alloc T: int8[4] @ 4\npass", 2, 22, "found '4', expected a scope's name"),
        ("block b(i < 4 = 0):\n  pass", 2, 11, "found 'i', expected one of spatial, reduce"),
        ("block b(spatial i < 4):\n  pass", 2, 24, "found '\\)', expected '='"),
        ("block b():\n  where 1\n  pass", 3, 11, "found '1', expected bool"),
        ("block b():\n  init:\n    pass", 5, 1, "found less indentation, expected a statement"),
        ("invoke foo()", 2, 10, "found 'foo', expected an intrinsic: copy4, matvec"),
        ("invoke copy4(A[0 : 4])", 2, 20, "found ':', expected ':\\+'"),
        ("invoke copy4(E[0 :+ 4])", 2, 16, "found 'E', expected a buffer that is declared"),
    ],
)
def test_refusals(body: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError, match=rf"^line {line}, column {column}: .*{message}"):
        parse(program(body), INTRINSICS)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "^line 1, column 1: found the end of the text, expected 'func'$"),
        (
            "func f() -> ():\n",
            "column 1: found the end of the text, expected a statement, indented",
        ),
        (
            "func f() -> ():\n  pass\nx",
            "^line 3, column 1: found 'x', expected the end of the text",
        ),
        (
            "func f(A: int8[4]) -> (A: int8[3]):\n  pass",
            "another 'A', expected the one that stands",
        ),
        ("func f(A: int8[4],) -> ():\n  pass", "column 19: found '\\)', expected a buffer's name"),
        ("func f(A: int8) -> ():\n  pass", "column 15: found '\\)', expected '\\['"),
        ("func f(A: byte[4]) -> ():\n  pass", "column 11: found 'byte', expected a type"),
        ("func f(A: int8[4 5]) -> ():\n  pass", "column 18: found '5', expected ',' or '\\]'"),
    ],
)
def test_refusals_of_whole_texts(written: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(written)


def test_the_scope_of_an_allocation_ends() -> None:
    body = "if True:\n  alloc T: int8[4]\n  T[0] = 1\nC[0] = T[0]"
    with pytest.raises(ParseError, match=r"^line 5, column 10: found 'T', expected a buffer that"):
        parse(program(body))


def deep(levels: int) -> PrimFunc:
    """Calls under each other, as deep as `levels` nodes with the store above them."""
    expr: Expr = Var("x")
    for _ in range(levels - 2):
        expr = minimum(index(1), expr)
    output = Buffer("R", (), index(0).dtype)
    return PrimFunc("f", (), (output,), Store(output, (), expr))


def test_what_is_as_deep_as_allowed_is_read() -> None:
    function = deep(MAX_DEPTH)
    assert parse(text(function)) == function
    with pytest.raises(ParseError, match=rf"nested more than {MAX_DEPTH} deep$"):
        parse(text(deep(MAX_DEPTH + 1)))


@pytest.mark.parametrize(
    "body",
    [
        "C[0] = " + "(" * 100_000,
        "C[0] = " + "-" * 100_000 + "A[0]",
        "C[0] = 1" + " + 1" * 10_000,
        "C[0] = " + "A[" * 10_000,
        "C[0] = 1" + " < 1 | 1 ^ 1 & 1 << 1 + 1 * (1" * 1000,
        "\n".join("  " * depth + "if True:" for depth in range(3000)),
        "\n".join(f"alloc T{number}: int8[1]" for number in range(1000)) + "\npass",
    ],
)
def test_what_is_deeper_is_refused(body: str) -> None:
    with pytest.raises(ParseError, match="nested"):
        parse(program(body))


@given(st.data())
def test_mutated_texts_are_read_or_refused(data: st.DataObject) -> None:
    written = text(data.draw(functions(stages=2)))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(written)))
        end = min(len(written), start + data.draw(st.integers(0, 6)))
        other = data.draw(st.integers(0, len(written)))
        inserted = data.draw(
            st.text("()[]:,=<>+-*/%&|^~@# \n.019eixC", max_size=4)
            | st.sampled_from([written[other : other + 8], "inf", "nan", "True", "int8(", "\n  "])
            | st.text(max_size=3)
        )
        written = written[:start] + inserted + written[end:]
    try:
        function = parse(written, INTRINSICS)
    except ParseError as error:
        refused = error
    else:
        assert text(parse(text(function), INTRINSICS)) == text(function)
        return
    assert 1 <= refused.line <= written.count("\n") + 1
    assert refused.column >= 1

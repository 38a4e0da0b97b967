"""Expressions in C, by hand: `test_opencl` runs them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT4,
    INT8,
    INT32,
    UINT4,
    UINT8,
    UINT16,
    UINT32,
    DType,
)
from tandem.compiler.ir.expr import Binary, Const, Expr, Load, Reinterpret, Select, Unary, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import cast, const, index, reinterpret, select
from tandem.compiler.machines.gpu.codegen.opencl_expressions import (
    Expressions,
    fits_int,
    is_double,
    is_index,
)
from tandem.compiler.machines.gpu.codegen.opencl_functions import Functions

DTYPES = (BOOL, INT4, UINT4, INT8, UINT8, INT32, UINT32, INDEX, FLOAT16, FLOAT32, FLOAT64)
FIRST, SECOND = Var("i", INDEX), Var("j", INDEX)
RANGES = {"i": Interval(0, 9), "j": Interval(-3, 9)}


def buffer(dtype: DType) -> Buffer:
    return Buffer(f"{dtype}s", (4, 8), dtype)


def x(dtype: DType) -> Expr:
    """An element, whose text is the name of the type."""
    return Load(buffer(dtype), (index(0), FIRST))


def y(dtype: DType) -> Expr:
    return Load(buffer(dtype), (FIRST, index(0)))


def written(index_type: str = "int") -> Expressions:
    names = {"i": "i0", "j": "j0", **{f"{each}s": f"{each}_" for each in DTYPES}}
    return Expressions(names, index_type, Functions())


def text(expr: Expr, index_type: str = "int") -> str:
    return written(index_type).text(expr, RANGES)


def test_constants_and_variables() -> None:
    assert text(const(2.0, FLOAT32)) == "0x1.0000000000000p+1f"
    assert (text(FIRST), text(index(5)), text(index(-5))) == ("i0", "5", "(-5)")
    # A number that is no index, in a loop's variable of another type.
    assert text(Var("i", INT32)) == "((long)i0)"


def test_elements() -> None:
    """Terms of zero are left out, and factors of one."""
    elements: dict[tuple[Expr, Expr], str] = {
        (FIRST, SECOND): "A[i0 * 8 + j0]",
        (FIRST, index(0)): "A[i0 * 8]",
        (index(0), SECOND): "A[j0]",
        (index(0), index(0)): "A[0]",
        (index(2), FIRST + 1): "A[2 * 8 + (i0 + 1)]",
    }
    writer = replace(written(), names={"A": "A", "i": "i0", "j": "j0"})
    for indices, wanted in elements.items():
        assert writer.element(Buffer("A", (4, 8), INT8), indices, RANGES) == wanted
    places = Buffer("int64s", (4, 8), INDEX)
    found = Load(buffer(INT8), (index(0), Load(places, (index(0), FIRST))))
    assert text(found) == "int8_[(int)int64_[i0]]"
    assert text(found, "long") == "int8_[(long)int64_[i0]]"


def test_elements_of_few_bits() -> None:
    """A byte holds each, of which the others mean nothing."""
    assert text(x(INT4)) == "(char)((char)((uint)(int4_[i0]) << 4) >> 4)"
    assert text(x(UINT4)) == "(uchar)((uint4_[i0]) & (uchar)15)"
    assert text(x(INT8)) == "int8_[i0]"
    assert text(x(BOOL)) == "bool_[i0]"


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (FIRST + SECOND, "(i0 + j0)"),
        (FIRST - 1, "(i0 - 1)"),
        (FIRST * SECOND, "(i0 * j0)"),
        (Unary(UnaryOp.NEG, FIRST), "(-i0)"),
        (Binary(BinaryOp.MIN, FIRST, SECOND), "min((int)i0, (int)j0)"),
        (Binary(BinaryOp.MAX, FIRST, index(3)), "max((int)i0, (int)3)"),
        (FIRST // 4, "(i0 / 4)"),
        (FIRST % 4, "(i0 % 4)"),
        (FIRST // index(1), "(i0 / 1)"),
        (SECOND // 4, "(int)quotient_int64(j0, 4)"),
        (SECOND % 4, "(int)remainder_int64(j0, 4)"),
        (FIRST % SECOND, "(int)remainder_int64(i0, j0)"),
        (FIRST // FIRST, "(int)quotient_int64(i0, i0)"),
        (Select(FIRST < SECOND, FIRST, SECOND), "((i0 < j0) ? i0 : j0)"),
        (FIRST < SECOND + 1, "(i0 < (j0 + 1))"),
        (Binary(BinaryOp.EQ, FIRST, index(2)), "(i0 == 2)"),
    ],
)
def test_indices(expr: Expr, wanted: str) -> None:
    assert text(expr) == wanted
    assert text(expr, "long") == wanted.replace("(int)", "(long)")


def test_ranges_that_are_not_known() -> None:
    for left, right in ((Var("k", INDEX), index(4)), (FIRST, Var("k", INDEX))):
        writer = replace(written(), names={"i": "i0", "k": "k0"})
        assert "quotient_int64" in writer.text(Binary(BinaryOp.FLOORDIV, left, right), RANGES)


def test_indices_among_numbers_have_the_type_of_numbers() -> None:
    assert text(x(INDEX) + FIRST) == "(long)((ulong)int64_[i0] + (ulong)((long)i0))"
    assert text(x(INDEX) + FIRST, "long") == "(long)((ulong)int64_[i0] + (ulong)i0)"
    assert text(x(INDEX) < FIRST) == "(int64_[i0] < ((long)i0))"
    assert text(cast(FIRST, FLOAT32)) == "((float)((long)i0))"
    assert text(cast(FIRST, FLOAT32), "long") == "((float)i0)"
    chosen = select(x(BOOL), x(INDEX), FIRST)
    assert text(chosen) == "(bool_[i0] ? int64_[i0] : ((long)i0))"
    assert text(select(x(BOOL), FIRST, x(INDEX))) == "(bool_[i0] ? ((long)i0) : int64_[i0])"


@pytest.mark.parametrize(
    ("op", "dtype", "wanted"),
    [
        (UnaryOp.NOT, BOOL, "(!bool_[i0])"),
        (UnaryOp.NEG, FLOAT32, "(-float32_[i0])"),
        (UnaryOp.ABS, FLOAT32, "fabs(float32_[i0])"),
        (UnaryOp.ROUND, FLOAT64, "rint(float64_[i0])"),
        (UnaryOp.SQRT, FLOAT32, "sqrt(float32_[i0])"),
        (UnaryOp.NEG, INT8, "(char)(0 - (uint)int8_[i0])"),
        (UnaryOp.NOT, UINT8, "(uchar)(~(uint)uint8_[i0])"),
        (UnaryOp.ABS, INT32, "(int)(abs((int)int32_[i0]))"),
        (UnaryOp.NEG, INDEX, "(long)(0 - (ulong)int64_[i0])"),
    ],
)
def test_operations_of_one(op: UnaryOp, dtype: DType, wanted: str) -> None:
    assert text(Unary(op, x(dtype))) == wanted


def test_operations_that_a_type_lacks() -> None:
    with pytest.raises(CodegenError, match=r"sqrt is not defined for int8"):
        text(Unary(UnaryOp.SQRT, x(INT8)))
    with pytest.raises(CodegenError, match=r"pow is not defined for int8"):
        text(Binary(BinaryOp.POW, x(INT8), y(INT8)))


@pytest.mark.parametrize(
    ("op", "dtype", "wanted"),
    [
        (BinaryOp.LT, INT8, "(int8_[i0] < int8_[i0 * 8])"),
        (BinaryOp.NE, FLOAT32, "(float32_[i0] != float32_[i0 * 8])"),
        (BinaryOp.MIN, BOOL, "(bool_[i0] & bool_[i0 * 8])"),
        (BinaryOp.MAX, BOOL, "(bool_[i0] | bool_[i0 * 8])"),
        (BinaryOp.AND, BOOL, "(bool_[i0] & bool_[i0 * 8])"),
        (BinaryOp.XOR, BOOL, "(bool_[i0] ^ bool_[i0 * 8])"),
        (BinaryOp.POW, FLOAT32, "pow(float32_[i0], float32_[i0 * 8])"),
        (BinaryOp.MIN, FLOAT32, "minimum_float32(float32_[i0], float32_[i0 * 8])"),
        (BinaryOp.MAX, FLOAT64, "maximum_float64(float64_[i0], float64_[i0 * 8])"),
        (BinaryOp.DIV, FLOAT32, "(float32_[i0] / float32_[i0 * 8])"),
        (BinaryOp.SUB, FLOAT32, "(float32_[i0] - float32_[i0 * 8])"),
        (BinaryOp.SUB, INT8, "(char)((uint)int8_[i0] - (uint)int8_[i0 * 8])"),
        (BinaryOp.MUL, INDEX, "(long)((ulong)int64_[i0] * (ulong)int64_[i0 * 8])"),
        (BinaryOp.AND, UINT8, "(uchar)(uint8_[i0] & uint8_[i0 * 8])"),
        (BinaryOp.MIN, INT8, "min((char)int8_[i0], (char)int8_[i0 * 8])"),
        (BinaryOp.FLOORDIV, INT8, "(char)(quotient_int8(int8_[i0], int8_[i0 * 8]))"),
        (BinaryOp.MOD, UINT32, "(uint)(remainder_uint32(uint32_[i0], uint32_[i0 * 8]))"),
        (BinaryOp.SHL, INT8, "shifted_left_int8(int8_[i0], int8_[i0 * 8])"),
        (BinaryOp.SHR, INT32, "shifted_right_int32(int32_[i0], int32_[i0 * 8])"),
    ],
)
def test_operations_of_two(op: BinaryOp, dtype: DType, wanted: str) -> None:
    writer = written()
    assert writer.text(Binary(op, x(dtype), y(dtype)), RANGES) == wanted
    called = wanted.removeprefix("(char)(").removeprefix("(uint)(").partition("(")[0]
    assert list(writer.functions.texts) == ([called] if "_" in called else [])


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (INT8, BOOL, "(int8_[i0] != 0)"),
        (FLOAT32, BOOL, "(float32_[i0] != 0)"),
        (INT8, FLOAT32, "((float)int8_[i0])"),
        (FLOAT32, FLOAT64, "((double)float32_[i0])"),
        (FLOAT32, INT8, "int8_of_float32(float32_[i0])"),
        (INT32, INT8, "(char)(int32_[i0])"),
        (INT32, UINT4, "(uchar)((int32_[i0]) & (uchar)15)"),
    ],
)
def test_casts(old: DType, new: DType, wanted: str) -> None:
    assert text(cast(x(old), new)) == wanted


def test_bits() -> None:
    assert text(reinterpret(x(FLOAT32), INT32)) == "as_int((float)float32_[i0])"
    assert text(reinterpret(x(INT32), FLOAT32)) == "as_float((int)int32_[i0])"
    assert text(reinterpret(x(INT32), UINT32)) == "(uint)(int32_[i0])"
    assert text(Reinterpret(x(FLOAT16), UINT16)) == "(ushort)(float16_[i0])"


def test_what_an_index_is() -> None:
    """Arithmetic of variables of loops and constants."""
    for expr in (FIRST, index(3), Unary(UnaryOp.NEG, FIRST), FIRST % 3, FIRST // SECOND):
        assert is_index(expr)
        assert is_index(Select(FIRST < 1, expr, FIRST))
    for expr in (
        const(3, INT32),
        x(INDEX),
        FIRST + x(INDEX),
        x(INDEX) + FIRST,
        cast(Var("k", INT32), INDEX),
        Binary(BinaryOp.SHL, FIRST, index(1)),
        Unary(UnaryOp.ABS, FIRST),
        Select(x(BOOL), FIRST, FIRST),
        Select(FIRST < 1, FIRST, Unary(UnaryOp.ABS, FIRST)),
        Select(FIRST < 1, Unary(UnaryOp.ABS, FIRST), FIRST),
        Binary(BinaryOp.ADD, FIRST, Unary(UnaryOp.ABS, FIRST)),
        Binary(BinaryOp.ADD, Unary(UnaryOp.ABS, FIRST), FIRST),
    ):
        assert not is_index(expr)


def test_what_fits_an_int() -> None:
    most = (1 << 31) - 1
    for expr, fits in (
        (FIRST + (most - 9), True),
        (FIRST + (most - 8), False),
        (SECOND - ((1 << 31) - 3), True),
        (SECOND - ((1 << 31) - 2), False),
        # Not the sum alone, but all on the way to it.
        (FIRST + (most + 9) - (most + 9), False),
        (Var("k", INDEX), False),
        (cast(cast(FIRST, INT32), FLOAT32), True),
        (x(INDEX) * (1 << 40), False),
        (x(INDEX) + x(INDEX), True),
        (Load(Buffer("A", (most,), INT8), (FIRST,)), True),
        (Load(Buffer("A", (most + 1,), INT8), (FIRST,)), False),
    ):
        assert fits_int(expr, RANGES) is fits, expr


def test_doubles() -> None:
    assert [each for each in DTYPES if is_double(each)] == [FLOAT64]
    assert not is_double(Const(1, INDEX).dtype)

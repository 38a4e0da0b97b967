"""The meaning of operations, against NumPy's arrays and plain definitions."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import IRError
from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    UINT8,
    UINT32,
    UINT64,
    BinaryOp,
    DType,
    Kind,
    UnaryOp,
)
from tandem.compiler.ir.arithmetic import binary_function, cast_function, unary_function, value_of
from tests.support.compiler.ir.ir_strategies import TYPES, constants

INTEGERS = [each for each in TYPES if each.is_integer]
integers = st.sampled_from(INTEGERS)


def bits(value: int, dtype: DType) -> str:
    """The two's complement of a value, most significant bit first."""
    return format(value % (1 << dtype.bits), f"0{dtype.bits}b")


def number(text: str, dtype: DType) -> int:
    """The value of bits."""
    value = int(text, 2)
    return value - (1 << dtype.bits) if dtype.kind is Kind.INT and text[0] == "1" else value


@given(st.data(), integers, st.sampled_from([BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL]))
def test_integers_wrap(data: st.DataObject, dtype: DType, op: BinaryOp) -> None:
    a, b = (value_of(data.draw(constants(dtype))) for _ in "ab")
    exact = {BinaryOp.ADD: a + b, BinaryOp.SUB: a - b, BinaryOp.MUL: a * b}[op]
    assert binary_function(op, dtype)(a, b) == number(bits(exact, dtype), dtype)


@given(st.data(), integers)
def test_floor_division_and_modulo(data: st.DataObject, dtype: DType) -> None:
    a, b = (value_of(data.draw(constants(dtype))) for _ in "ab")
    quotient = binary_function(BinaryOp.FLOORDIV, dtype)(a, b)
    rest = binary_function(BinaryOp.MOD, dtype)(a, b)
    if b == 0:
        assert (quotient, rest) == (0, 0)
        return
    exact = math.floor(Fraction(a, b))
    assert quotient == number(bits(exact, dtype), dtype)
    assert rest == a - b * exact


@given(st.data(), integers)
def test_shifts(data: st.DataObject, dtype: DType) -> None:
    a, amount = (value_of(data.draw(constants(dtype))) for _ in "ab")
    count = min(amount % (1 << dtype.bits), dtype.bits)
    text = bits(a, dtype)
    fill = text[0] if dtype.kind is Kind.INT else "0"
    left, right = text[count:] + "0" * count, fill * count + text[: dtype.bits - count]
    assert binary_function(BinaryOp.SHL, dtype)(a, amount) == number(left, dtype)
    assert binary_function(BinaryOp.SHR, dtype)(a, amount) == number(right, dtype)


@given(st.data(), integers)
def test_bits_and_signs(data: st.DataObject, dtype: DType) -> None:
    a, b = (value_of(data.draw(constants(dtype))) for _ in "ab")
    pairs = list(zip(bits(a, dtype), bits(b, dtype), strict=True))
    for op, table in (
        (BinaryOp.AND, {("1", "1")}),
        (BinaryOp.OR, {("0", "1"), ("1", "0"), ("1", "1")}),
        (BinaryOp.XOR, {("0", "1"), ("1", "0")}),
    ):
        expected = "".join("1" if pair in table else "0" for pair in pairs)
        assert binary_function(op, dtype)(a, b) == number(expected, dtype)
    flipped = bits(a, dtype).translate(str.maketrans("01", "10"))
    assert unary_function(UnaryOp.NOT, dtype)(a) == number(flipped, dtype)
    assert unary_function(UnaryOp.NEG, dtype)(a) == number(bits(-a, dtype), dtype)
    assert unary_function(UnaryOp.ABS, dtype)(a) == number(bits(abs(a), dtype), dtype)


@pytest.mark.parametrize(
    ("op", "dtype", "a", "b", "expected"),
    [
        (BinaryOp.FLOORDIV, INT8, -128, -1, -128),
        (BinaryOp.MOD, INT8, -128, -1, 0),
        (BinaryOp.FLOORDIV, INT8, -7, 2, -4),
        (BinaryOp.MOD, INT8, -7, 2, 1),
        (BinaryOp.MOD, INT8, 7, -2, -1),
        (BinaryOp.SHL, INT8, 3, -1, 0),
        (BinaryOp.SHR, INT8, -3, -1, -1),
        (BinaryOp.SHR, UINT8, 255, 8, 0),
        (BinaryOp.MUL, UINT64, 2**63, 2, 0),
        (BinaryOp.AND, BOOL, True, False, False),
        (BinaryOp.MAX, BOOL, False, True, True),
        (BinaryOp.LT, BOOL, False, True, True),
    ],
)
def test_corners(op: BinaryOp, dtype: DType, a: int, b: int, expected: int) -> None:
    assert binary_function(op, dtype)(a, b) == expected


def test_not_of_a_bool() -> None:
    assert unary_function(UnaryOp.NOT, BOOL)(True) is False


FLOAT_OPERATIONS: dict[BinaryOp, Any] = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.DIV: np.divide,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
}


@given(st.data(), st.sampled_from([FLOAT32, FLOAT64]), st.sampled_from(list(FLOAT_OPERATIONS)))
def test_floats_are_as_numpy_has_them(data: st.DataObject, dtype: DType, op: BinaryOp) -> None:
    a, b = (value_of(data.draw(constants(dtype))) for _ in "ab")
    with np.errstate(all="ignore"):
        result = binary_function(op, dtype)(a, b)
        expected = FLOAT_OPERATIONS[op](np.array([a]), np.array([b]))[0]
    assert type(result) is (bool if op.compares else dtype.numpy.type)
    np.testing.assert_array_equal(result, expected)


def test_float32_rounds_after_each_operation() -> None:
    tiny = np.float32(2.0**-24)
    add = binary_function(BinaryOp.ADD, FLOAT32)
    assert add(add(np.float32(1), tiny), tiny) == 1.0
    assert add(np.float32(1), add(tiny, tiny)) > 1.0


@given(st.data(), st.sampled_from(TYPES), st.sampled_from(INTEGERS))
def test_casts_to_integers(data: st.DataObject, source: DType, target: DType) -> None:
    value = value_of(data.draw(constants(source)))
    result = cast_function(source, target)(value)
    assert type(result) is int
    if not source.is_float:
        assert result == number(bits(int(value), target), target)
    elif math.isnan(value):
        assert result == 0
    elif math.isinf(value):
        assert result == (target.high if value > 0 else target.low)
    else:
        assert result == max(target.low, min(target.high, math.trunc(Fraction(float(value)))))


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (math.nan, INT8, 0),
        (math.inf, INT8, 127),
        (-math.inf, INT8, -128),
        (127.99, INT8, 127),
        (-128.99, INT8, -128),
        (-1e30, INT64, -(2**63)),
        (2.0**63, INT64, 2**63 - 1),
        (-0.99, UINT8, 0),
        (-1.0, UINT8, 0),
        (-2.7, INT32, -2),
    ],
)
def test_floats_that_no_integer_is(value: float, target: DType, expected: int) -> None:
    assert cast_function(FLOAT64, target)(np.float64(value)) == expected
    assert cast_function(FLOAT32, target)(np.float32(value)) == expected


@given(st.data(), st.sampled_from(TYPES))
def test_casts_to_bool(data: st.DataObject, source: DType) -> None:
    value = value_of(data.draw(constants(source)))
    assert cast_function(source, BOOL)(value) is (math.isnan(value) or float(value) != 0.0)


@given(st.data(), st.sampled_from([INT64, UINT64, INT32, UINT32]))
def test_integers_round_once_to_float32(data: st.DataObject, source: DType) -> None:
    value = value_of(data.draw(constants(source)))
    result = float(cast_function(source, FLOAT32)(value))
    (pattern,) = struct.unpack("<I", struct.pack("<f", result))
    neighbours = (
        struct.unpack("<f", struct.pack("<I", pattern + step))[0]
        for step in (-1, 1)
        if pattern & 0x7FFFFFFF
    )
    error = abs(Fraction(result) - value)
    assert all(error <= abs(Fraction(each) - value) for each in neighbours)


def test_a_wide_integer_does_not_round_twice() -> None:
    # Through a float64 this would fall on the midpoint of two float32, and then to the even one.
    value = (1 << 60) + (1 << 36) + 1
    assert float(cast_function(INT64, FLOAT32)(value)) == float((1 << 60) + (1 << 37))


@pytest.mark.parametrize(
    ("op", "function"),
    [
        (UnaryOp.EXP, math.exp),
        (UnaryOp.SQRT, math.sqrt),
        (UnaryOp.TANH, math.tanh),
        (UnaryOp.ERF, math.erf),
        (UnaryOp.LOG, math.log),
        (UnaryOp.ASIN, math.asin),
        (UnaryOp.COSH, math.cosh),
        (UnaryOp.FLOOR, math.floor),
        (UnaryOp.CEIL, math.ceil),
        (UnaryOp.ROUND, round),
    ],
)
def test_functions(op: UnaryOp, function: Any) -> None:
    for value in (0.1, 0.5, 0.75, 1.0):
        assert float(unary_function(op, FLOAT64)(np.float64(value))) == pytest.approx(
            function(value), rel=1e-15
        )
        single = unary_function(op, FLOAT32)(np.float32(value))
        assert type(single) is np.float32
        assert single == np.float32(function(float(np.float32(value))))


@pytest.mark.parametrize(("value", "expected"), [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0)])
def test_round_takes_halves_to_even(value: float, expected: float) -> None:
    assert unary_function(UnaryOp.ROUND, FLOAT32)(np.float32(value)) == expected


def test_power() -> None:
    power = binary_function(BinaryOp.POW, FLOAT32)
    assert power(np.float32(2), np.float32(-1)) == np.float32(0.5)
    with np.errstate(all="ignore"):
        assert np.isnan(power(np.float32(-1), np.float32(0.5)))


def test_refusals() -> None:
    with pytest.raises(IRError, match=r"^/ is not defined for int8$"):
        binary_function(BinaryOp.DIV, INT8)
    with pytest.raises(IRError, match=r"^<< is not defined for float32$"):
        binary_function(BinaryOp.SHL, FLOAT32)
    with pytest.raises(IRError, match=r"^\+ is not defined for bool$"):
        binary_function(BinaryOp.ADD, BOOL)
    with pytest.raises(IRError, match=r"^exp is not defined for int8$"):
        unary_function(UnaryOp.EXP, INT8)
    with pytest.raises(IRError, match=r"^- is not defined for bool$"):
        unary_function(UnaryOp.NEG, BOOL)

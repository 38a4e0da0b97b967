"""Types and constants in C, by hand; wrapped values in Python's integers."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT4,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT4,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DType,
    Kind,
)
from tandem.compiler.ir.expr import Const
from tandem.compiler.machines.gpu.codegen.opencl_types import (
    c_type,
    container_bits,
    number,
    stored_type,
    unsigned_type,
    wrapped,
)

_INTEGERS: tuple[DType, ...] = (
    INT4,
    UINT4,
    INT8,
    UINT8,
    INT16,
    UINT16,
    INT32,
    UINT32,
    INT64,
    UINT64,
)
_INTEGERS += tuple(DType(kind, bits) for kind in (Kind.INT, Kind.UINT) for bits in (3, 33))


@pytest.mark.parametrize(
    ("dtype", "bits", "name", "wide"),
    [
        (INT4, 8, "char", "uint"),
        (UINT4, 8, "uchar", "uint"),
        (INT8, 8, "char", "uint"),
        (DType(Kind.INT, 9), 16, "short", "uint"),
        (UINT16, 16, "ushort", "uint"),
        (DType(Kind.UINT, 17), 32, "uint", "uint"),
        (INT32, 32, "int", "uint"),
        (DType(Kind.INT, 33), 64, "long", "ulong"),
        (UINT64, 64, "ulong", "ulong"),
    ],
    ids=str,
)
def test_integers(dtype: DType, bits: int, name: str, wide: str) -> None:
    assert container_bits(dtype) == bits
    assert (c_type(dtype), stored_type(dtype), unsigned_type(dtype)) == (name, name, wide)


def test_other_types() -> None:
    assert (c_type(BOOL), stored_type(BOOL)) == ("int", "uchar")
    assert (c_type(FLOAT32), stored_type(FLOAT32)) == ("float", "float")
    assert c_type(FLOAT64) == "double"
    assert c_type(FLOAT16) == "ushort"


def computed(text: str, x: int) -> int:
    """C's value of a wrapped text, whose casts keep low bits: Python's integers are as wide as the
    numbers in it."""
    kinds = {"char": (8, True), "short": (16, True), "int": (32, True), "long": (64, True)}
    kinds |= {f"u{name}": (bits, False) for name, (bits, _) in kinds.items()}

    def cast(name: str, value: int) -> int:
        bits, signed = kinds[name]
        low = value & ((1 << bits) - 1)
        return low - (1 << bits) if signed and low >> (bits - 1) else low

    # (name)(...) is a call, and (name)5 one of a number.
    calls = re.sub(r"\((u?(?:char|short|int|long))\)\(", r'cast("\1", ', text)
    calls = re.sub(r"\((u?(?:char|short|int|long))\)(\d+)(?:UL)?", r'cast("\1", \2)', calls)
    return int(eval(calls, {"cast": cast, "x": x}))


@pytest.mark.parametrize(
    "dtype",
    [*_INTEGERS, *(DType(kind, bits) for kind in (Kind.INT, Kind.UINT) for bits in (3, 33))],
)
def test_wrapped_values_are_those_of_the_type(dtype: DType) -> None:
    edges = [dtype.low, dtype.high, dtype.high + 1, dtype.low - 1, 5 << dtype.bits, 0, 1, -1]
    for x in edges:
        assert computed(wrapped("x", dtype), x) == dtype.wrap(x)


def test_wrapped_texts() -> None:
    """A type that fills its container is a cast; bits are cut off by a mask, or by two shifts."""
    assert wrapped("x + y", INT8) == "(char)(x + y)"
    assert wrapped("x", UINT64) == "(ulong)(x)"
    assert wrapped("x", UINT4) == "(uchar)((x) & (uchar)15)"
    assert wrapped("x", DType(Kind.UINT, 33)) == f"(ulong)((x) & (ulong){(1 << 33) - 1}UL)"
    assert wrapped("x", DType(Kind.UINT, 31)) == f"(uint)((x) & (uint){(1 << 31) - 1})"
    assert wrapped("x", INT4) == "(char)((char)((uint)(x) << 4) >> 4)"
    assert wrapped("x", DType(Kind.INT, 60)) == "(long)((long)((ulong)(x) << 4) >> 4)"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (True, BOOL, "1"),
        (False, BOOL, "0"),
        (5, INT8, "((char)5)"),
        (-5, INT8, "((char)-5)"),
        (-128, INT8, "((char)-128)"),
        (5, UINT16, "((ushort)5u)"),
        (7, INT32, "7"),
        (-7, INT32, "((int)-7)"),
        (0, INT32, "0"),
        (-(1 << 31), INT32, "((int)(-2147483647 - 1))"),
        (9, UINT32, "9u"),
        (9, DType(Kind.UINT, 33), "9UL"),
        (9, INT64, "9L"),
        (-9, INT64, "((long)-9L)"),
        (-(1 << 63), INT64, "((long)(-9223372036854775807L - 1))"),
        (9, UINT64, "9UL"),
        (1.5, FLOAT32, "0x1.8000000000000p+0f"),
        (-1.5, FLOAT32, "(-0x1.8000000000000p+0f)"),
        (-0.0, FLOAT64, "(-0x0.0p+0)"),
        (0.1, FLOAT64, "0x1.999999999999ap-4"),
        (math.inf, FLOAT32, "((float)INFINITY)"),
        (-math.inf, FLOAT64, "((double)-INFINITY)"),
        (math.nan, FLOAT64, "((double)NAN)"),
    ],
)
def test_numbers(value: float, dtype: DType, text: str) -> None:
    assert number(Const(value, dtype)) == text


def test_floats_are_written_in_full() -> None:
    for value in np.random.default_rng(1).normal(size=20):
        assert float.fromhex(number(Const(float(value), FLOAT64)).strip("()")) == value

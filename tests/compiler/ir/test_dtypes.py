"""Types of values, by hand."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tandem.compiler.errors import IRError
from tandem.compiler.ir.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT4,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT2,
    INT4,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT2,
    UINT4,
    UINT8,
    UINT64,
    DType,
    Kind,
    dtype_of,
    smallest_int,
)

STORED = FLOAT16, BFLOAT16, FLOAT4
INTEGERS = INT2, INT4, INT8, INT64, UINT2, UINT4, UINT8, UINT64
NAMES = {
    "bool": BOOL,
    "int2": INT2,
    "uint4": UINT4,
    "int8": INT8,
    "uint64": UINT64,
    "int7": DType(Kind.INT, 7),
    "float32": FLOAT32,
    "float64": FLOAT64,
    "float16": FLOAT16,
    "bfloat16": BFLOAT16,
    "float4_e2m1fn": FLOAT4,
}


def test_names() -> None:
    for name, dtype in NAMES.items():
        assert str(dtype) == name
        assert dtype_of(name) == dtype
    assert INDEX is INT64


@pytest.mark.parametrize(
    "name", ["", "int", "uint", "float", "complex64", "int8x", "int-8", "Int8"]
)
def test_names_of_none(name: str) -> None:
    with pytest.raises(IRError, match=f"^'{name}' is no type$"):
        dtype_of(name)


@pytest.mark.parametrize(
    ("kind", "allowed", "others"),
    [
        (Kind.BOOL, (1,), (0, 2, 8)),
        (Kind.INT, (1, 2, 63, 64), (0, -1, 65)),
        (Kind.UINT, (1, 2, 63, 64), (0, -1, 65)),
        (Kind.FLOAT, (32, 64), (16, 33, 128)),
        (Kind.FLOAT16, (16,), (15, 32)),
        (Kind.BFLOAT16, (16,), (8, 32)),
        (Kind.FLOAT4, (4,), (3, 8)),
    ],
)
def test_widths(kind: Kind, allowed: tuple[int, ...], others: tuple[int, ...]) -> None:
    for bits in allowed:
        assert DType(kind, bits).bits == bits
    for bits in others:
        with pytest.raises(IRError, match=f"^there is no {kind.value} of {bits} bits$"):
            DType(kind, bits)


def test_kinds() -> None:
    every = (*INTEGERS, FLOAT32, FLOAT64, *STORED, BOOL)
    assert [each for each in every if each.is_float] == [FLOAT32, FLOAT64]
    assert [each for each in every if each.is_stored_float] == [*STORED]
    assert [each for each in every if each.is_integer] == [*INTEGERS]
    assert {each for each in every if each.is_narrow} == {INT2, INT4, UINT2, UINT4, FLOAT4}
    assert DType(Kind.INT, 7).is_narrow


def test_what_holds_stored_floats() -> None:
    held = {str(each): str(each.holder) for each in (*STORED, BOOL, INT8, FLOAT32)}
    assert held == {
        "float16": "uint16",
        "bfloat16": "uint16",
        "float4_e2m1fn": "uint4",
        "bool": "bool",
        "int8": "int8",
        "float32": "float32",
    }


def test_limits() -> None:
    limits = {
        str(dtype): (dtype.low, dtype.high) for dtype in (INT2, UINT2, INT8, UINT8, INT64, UINT64)
    }
    assert limits == {
        "int2": (-2, 1),
        "uint2": (0, 3),
        "int8": (-128, 127),
        "uint8": (0, 255),
        "int64": (-(2**63), 2**63 - 1),
        "uint64": (0, 2**64 - 1),
    }


@pytest.mark.parametrize(
    ("dtype", "value", "wanted"),
    [
        (INT8, 127, 127),
        (INT8, 128, -128),
        (INT8, -128, -128),
        (INT8, -129, 127),
        (INT8, 1000, -24),
        (UINT8, -1, 255),
        (UINT8, 255, 255),
        (UINT8, 256, 0),
        (DType(Kind.INT, 3), 4, -4),
        (UINT64, -1, 2**64 - 1),
    ],
)
def test_integers_wrap(dtype: DType, value: int, wanted: int) -> None:
    assert dtype.wrap(value) == wanted


def test_types_of_arrays() -> None:
    for dtype in (BOOL, INT8, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64):
        assert dtype.numpy == np.dtype(str(dtype))
    assert BFLOAT16.numpy == np.dtype(ml_dtypes.bfloat16)
    assert FLOAT4.numpy == np.dtype(ml_dtypes.float4_e2m1fn)
    for narrow, wanted in ((INT2, "int2"), (INT4, "int4"), (UINT2, "uint2"), (UINT4, "uint4")):
        assert narrow.numpy == np.dtype(getattr(ml_dtypes, wanted))
        assert narrow.numpy.itemsize == 1
    for bits in (1, 3, 7, 9, 33):
        with pytest.raises(
            IRError, match=f"^int{bits} has no array type: its width must be 2, 4, "
        ):
            _ = DType(Kind.INT, bits).numpy


def test_the_smallest_integers() -> None:
    assert smallest_int(-128, 127) == INT8
    assert smallest_int(-129, 127) == INT16
    assert smallest_int(-128, 128) == INT16
    assert smallest_int(-(2**15), 2**15 - 1) == INT16
    assert smallest_int(0, 2**15) == INT32
    assert smallest_int(-(2**15) - 1, 0) == INT32
    assert smallest_int(0, 0) == INT8

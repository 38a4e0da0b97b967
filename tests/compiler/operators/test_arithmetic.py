"""Arithmetic at the places where it can go wrong: signs, zeros, infinities, ends of types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, FLOAT64, INT8, INT32, dtype_of
from tandem.compiler.operators import arithmetic
from tandem.compiler.operators.arithmetic import Direction
from tandem.compiler.operators.broadcast import Elementwise
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import Array, given_as, interpreted

INF, NAN = math.inf, math.nan


def run(operator: Elementwise, *arrays: Array, **attributes: Any) -> Array:
    named = {f"x{at}": array for at, array in enumerate(arrays)}
    tensors = [given_as(name, array) for name, array in named.items()]
    return interpreted(operator(*tensors, **attributes), named)


def same(found: Array, wanted: list[Any], dtype: str) -> None:
    """The same type and bits, but for what is NaN."""
    expected = np.array(wanted, dtype)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        real = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(expected[real]))


A8 = np.array([7, -7, 7, -7, 5, -128, 6], np.int8)
B8 = np.array([2, 2, -2, -2, 0, -1, 3], np.int8)


def test_division() -> None:
    same(run(arithmetic.divide, A8, B8), [3, -3, -3, 3, 0, -128, 2], "int8")
    unsigned = np.array([200, 7, 5], np.uint8), np.array([3, 0, 5], np.uint8)
    same(run(arithmetic.divide, *unsigned), [66, 0, 1], "uint8")
    floats = np.array([1, -1, 0], np.float32), np.array([4, 0, 0], np.float32)
    same(run(arithmetic.divide, *floats), [0.25, -INF, NAN], "float32")


def test_remainders_of_integers() -> None:
    same(run(arithmetic.modulo, A8, B8), [1, 1, -1, -1, 0, 0, 0], "int8")
    # With the sign of a: as C's %. Modulo 0 is left by a quotient of 0.
    same(run(arithmetic.modulo, A8, B8, fmod=1)[:4], [1, -1, 1, -1], "int8")
    same(run(arithmetic.modulo, A8, B8, fmod=1)[5:], [0, 0], "int8")


X = np.array([5.5, -5.5, 5.5, -5.5, 6, -6, 1, -1, 3, INF, 0.0], np.float32)
Y = np.array([2, 2, -2, -2, 2, 2, INF, INF, 0, 2, -2], np.float32)


def test_remainders_of_floats() -> None:
    with np.errstate(invalid="ignore"):
        wanted = np.fmod(X, Y)
    same(run(arithmetic.modulo, X, Y, fmod=1), wanted.tolist(), "float32")
    with np.errstate(invalid="ignore"):
        floored = np.remainder(X, Y)
    same(run(arithmetic.modulo, X, Y), floored.tolist(), "float32")


def test_powers() -> None:
    whole = np.array([-3, 2, 0, 5], np.int32), np.array([3, 10, 0, 1], np.int32)
    same(run(arithmetic.power, *whole), [-27, 1024, 1, 5], "int32")
    mixed = np.array([4.0, 2.0], np.float32), np.array([3, -1], np.int32)
    same(run(arithmetic.power, *mixed), [64.0, 0.5], "float32")
    other = np.array([4, 9], np.int32), np.array([0.5, 0.5], np.float32)
    same(run(arithmetic.power, *other), [2, 3], "int32")


def test_of_several() -> None:
    values = [np.array(row, np.float32) for row in ([1, 5, NAN], [4, 2, 1], [3, 9, 1])]
    same(run(arithmetic.minimum, *values), [1, 2, NAN], "float32")
    same(run(arithmetic.maximum, *values), [4, 9, NAN], "float32")
    same(run(arithmetic.total, *values), [8, 16, NAN], "float32")
    same(run(arithmetic.mean, *values[:2]), [2.5, 3.5, NAN], "float32")
    same(run(arithmetic.mean, values[0]), [1, 5, NAN], "float32")


def test_signs() -> None:
    same(run(arithmetic.sign, np.array([-5, 0, 7], np.int8)), [-1, 0, 1], "int8")
    same(run(arithmetic.sign, np.array([0, 200], np.uint8)), [0, 1], "uint8")
    floats = np.array([-0.1, -0.0, 0.0, INF, NAN], np.float32)
    same(run(arithmetic.sign, floats), [-1, -0.0, 0.0, 1, NAN], "float32")
    same(run(arithmetic.reciprocal, np.array([4, -0.0], np.float32)), [0.25, -INF], "float32")


def test_functions_that_lose_digits_when_written_plainly() -> None:
    x = np.array([0.0, 1e-20, -1e-10, 0.5, -0.5, 1e300, INF, -1.0])
    with np.errstate(divide="ignore"):
        close(run(arithmetic.log1p, x), np.log1p(x))
    wide = np.array([0.0, 1e-12, -1e-12, 0.5, -3.0, 9.9e7, 1e8, 1.1e8, -1e300])
    close(run(arithmetic.asinh, wide), np.arcsinh(wide))
    from_one = np.array([1.0, 1 + 1e-14, 2.0, 9.9e7, 1e8, 1.1e8, 1e300])
    close(run(arithmetic.acosh, from_one), np.arccosh(from_one))
    assert np.isnan(run(arithmetic.acosh, np.array([0.5]))).all()
    small = np.array([0.0, 1e-12, -1e-12, 0.5, -0.999, 1.0, -1.0])
    with np.errstate(divide="ignore"):
        close(run(arithmetic.atanh, small), np.arctanh(small))
    assert np.isnan(run(arithmetic.atanh, np.array([1.5, -1.5]))).all()


def close(found: Array, wanted: Array) -> None:
    np.testing.assert_allclose(found, wanted, rtol=4e-15)


def test_clipping() -> None:
    x = np.array([-5, 0, 5], np.int8)
    same(run(arithmetic.clip, x), [-5, 0, 5], "int8")
    same(run(arithmetic.clip, x, min=-1), [-1, 0, 5], "int8")
    same(run(arithmetic.clip, x, max=1), [-5, 0, 1], "int8")
    same(run(arithmetic.clip, x, min=3, max=1), [1, 1, 1], "int8")


def test_casts() -> None:
    same(run(arithmetic.cast, np.array([1.9, -1.9], np.float32), to=INT8), [1, -1], "int8")
    same(run(arithmetic.cast, np.array([0, 3], np.int8), to=BOOL), [False, True], "bool")
    same(run(arithmetic.identity, x := np.array([1, 2], np.int8)), x.tolist(), "int8")
    same(run(arithmetic.stop_gradient, x), x.tolist(), "int8")
    one = np.array([1.0, -0.0], np.float32)
    same(run(arithmetic.bit_cast, one, to=INT32), [0x3F800000, -(2**31)], "int32")
    same(run(arithmetic.bit_cast, np.array([True, False]), to=INT8), [1, 0], "int8")
    same(run(arithmetic.bit_cast, np.array([-1, 0], np.int8), to=BOOL), [True, False], "bool")
    same(run(arithmetic.bit_cast, np.array([True]), to=BOOL), [True], "bool")


def test_shifts() -> None:
    a, b = np.array([-8, 1, 64, -1, 3], np.int8), np.array([1, 3, 1, 8, -1], np.int8)
    same(run(arithmetic.bit_shift, a, b, direction=Direction.LEFT), [-16, 8, -128, 0, 0], "int8")
    same(run(arithmetic.bit_shift, a, b, direction=Direction.RIGHT), [-4, 0, 32, -1, 0], "int8")
    wide = np.array([128], np.uint8), np.array([1], np.uint8)
    same(run(arithmetic.bit_shift, *wide, direction=Direction.RIGHT), [64], "uint8")


def test_kinds_of_floats() -> None:
    x = np.array([1, INF, -INF, NAN], np.float32)
    same(run(arithmetic.is_nan, x), [False, False, False, True], "bool")
    for below, above, wanted in (
        (1, 1, [False, True, True, False]),
        (0, 1, [False, True, False, False]),
        (1, 0, [False, False, True, False]),
        (0, 0, [False, False, False, False]),
    ):
        found = run(arithmetic.is_inf, x, detect_negative=below, detect_positive=above)
        same(found, wanted, "bool")
    same(run(arithmetic.is_inf, x), [False, True, True, False], "bool")


def test_choices() -> None:
    condition = np.array([True, False])
    chosen = run(arithmetic.where, condition, np.array([1, 2], np.int8), np.array([3], np.int8))
    same(chosen, [1, 3], "int8")


def test_refusals() -> None:
    a = placeholder((2,), INT8, "a")
    with pytest.raises(TensorError, match="the condition is int8, not bool"):
        arithmetic.where(a, a, a)
    with pytest.raises(TensorError, match="fmod is 0 or 1, not 2"):
        arithmetic.modulo(a, a, fmod=2)
    f = placeholder((2,), FLOAT64, "f")
    with pytest.raises(TensorError, match="of floats only float32 is defined"):
        arithmetic.modulo(f, f)
    t = placeholder((2,), BOOL, "t")
    for operator in (arithmetic.divide, arithmetic.minimum, arithmetic.power, arithmetic.total):
        with pytest.raises(TensorError, match="bool"):
            operator(t, t)
    for operator in (arithmetic.mean, arithmetic.log1p, arithmetic.reciprocal, arithmetic.is_nan):
        with pytest.raises(TensorError, match="int8"):
            operator(a)
    with pytest.raises(TensorError, match="float32"):
        arithmetic.bit_shift(placeholder((2,), FLOAT32, "f"), a, direction=Direction.LEFT)
    with pytest.raises(TensorError, match=r"uint8|int8"):
        arithmetic.bit_cast(a, to=dtype_of("int16"))

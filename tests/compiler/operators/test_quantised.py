"""Quantised operators equal ONNX's, and integers without bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, INT64, UINT8, DType, dtype_of
from tandem.compiler.operators.quantised import dequantise, quantise, requantise, requantise_add
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import (
    Array,
    evaluate,
    given_as,
    numbers,
    onnx,
    same,
)

SHAPE = (2, 3, 5)


@pytest.mark.parametrize("to", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize(("count", "axis"), [((), 1), ((1,), 0), ((3,), 1), ((5,), -1)])
def test_quantise_as_onnx(to: str, count: tuple[int, ...], axis: int) -> None:
    x = numbers(0, SHAPE) * 20
    # Halves, and what no integer of the type is.
    x[0, 0] = [0.5, 1.5, -2.5, 1e8, -1e8]
    scale = np.resize(np.array([0.25, 0.5, 0.75, 1, 1.25], "float32"), count)
    zero = np.array(numbers(1, count, to))
    given_arrays = {"X": x, "S": scale, "Z": zero}
    out = quantise(
        *(given_as(name, each) for name, each in given_arrays.items()), axis=axis, to=dtype_of(to)
    )
    attributes = {"axis": axis} if count else {}
    same(evaluate(out, given_arrays), onnx("QuantizeLinear", *given_arrays.values(), **attributes))


def test_what_is_no_integer() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 3e38, -5e9], "f4")
    arrays = {"X": odd, "S": np.array([1], "f4"), "Z": np.array([7], "u1")}
    out = quantise(*(given_as(name, each) for name, each in arrays.items()), to=UINT8)
    assert evaluate(out, arrays).tolist() == [7, 255, 0, 255, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
@pytest.mark.parametrize(("count", "axis"), [((), 1), ((3,), 1)])
def test_dequantise_as_onnx(dtype: str, count: tuple[int, ...], axis: int) -> None:
    zero = np.array(numbers(1, count, "int8") if dtype != "int32" else np.zeros(count)).astype(
        dtype
    )
    arrays = {"X": numbers(0, SHAPE, dtype), "S": np.array(np.abs(numbers(2, count))), "Z": zero}
    out = dequantise(*(given_as(name, each) for name, each in arrays.items()), axis=axis)
    attributes = {"axis": axis} if count else {}
    same(evaluate(out, arrays), onnx("DequantizeLinear", *arrays.values(), **attributes))


LIMITS = st.sampled_from([(-128, 127), (0, 127), (-5, 9), (-(1 << 15), 200), (-(1 << 31), 1 << 30)])


@given(
    seed=st.integers(0, 1 << 30),
    shift=st.integers(0, 31),
    limits=LIMITS,
    axis=st.sampled_from([0, 1, 2, -1]),
    common=st.booleans(),
    add=st.booleans(),
)
@settings(max_examples=40)
def test_requantise_is_exact(
    seed: int, shift: int, limits: tuple[int, int], axis: int, common: bool, add: bool
) -> None:
    generator = np.random.default_rng(seed)
    count = 1 if common else SHAPE[axis]

    def some(least: int, most: int, shape: tuple[int, ...]) -> Array:
        bits = generator.integers(0, most.bit_length(), shape)
        spread = generator.integers(least, most, shape, endpoint=True) >> bits
        return np.where(generator.random(shape) < 0.1, most, spread)

    acc = some(-(1 << 31), (1 << 31) - 1, SHAPE).astype("int32")
    multiplier = some(0, (1 << 31) - 1, (count,)).astype("int32")
    addend = some(-(1 << 61), 1 << 61, (count,)).astype("int64")
    arrays = {"A": acc, "M": multiplier, "C": addend}
    total = acc.astype(object) * along(multiplier, axis) + along(addend, axis)
    if add:
        arrays |= {"K": numbers(seed, SHAPE, "int8"), "T": some(0, (1 << 31) - 1, (1,))}
        arrays["T"] = arrays["T"].astype("int32")
        total = total + arrays["K"].astype(object) * int(arrays["T"][0])
    low, high = limits
    wanted = np.clip(total // (1 << shift), low, high)
    tensors = [given_as(name, each) for name, each in arrays.items()]
    operator = requantise_add if add else requantise
    out = operator(*tensors, shift=shift, low=low, high=high, axis=axis)
    same(evaluate(out, arrays), wanted.astype(out.dtype.numpy))


def along(values: Array, axis: int) -> Array:
    """As Python's integers, to broadcast along an axis of `SHAPE`."""
    shape = [1] * len(SHAPE)
    shape[axis] = values.size
    return values.astype(object).reshape(shape)


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(-128, 127, "int8"), (-129, 0, "int16"), (0, 128, "int16"), (0, 1 << 15, "int32")],
)
def test_the_smallest_type(low: int, high: int, dtype: str) -> None:
    acc = placeholder((2, 3), INT32, "A")
    m, c = placeholder((), INT32, "M"), placeholder((), INT64, "C")
    assert str(requantise(acc, m, c, shift=1, low=low, high=high).dtype) == dtype


class TestRefusals:
    x, acc = placeholder((2, 3), FLOAT32, "X"), placeholder((2, 3), INT32, "A")
    s, z = placeholder((), FLOAT32, "S"), placeholder((), INT8, "Z")
    m, c = placeholder((1,), INT32, "M"), placeholder((1,), INT64, "C")
    skip = placeholder((2, 3), INT8, "K")

    def test_types(self) -> None:
        with pytest.raises(TensorError, match=r"quantise q: A int32\[2, 3\] is not of the kind"):
            quantise(self.acc, self.s, self.z, name="q")
        with pytest.raises(TensorError, match="into int32: integers of up to 16 bits"):
            quantise(self.x, self.s, self.z, to=INT32)
        with pytest.raises(TensorError, match=r"Z int8\[\] has to be uint8"):
            quantise(self.x, self.s, self.z, to=UINT8)
        with pytest.raises(TensorError, match=r"X float32\[2, 3\] is not of the kind int, uint"):
            dequantise(self.x, self.s, self.z)
        with pytest.raises(TensorError, match=r"Z int8\[\] is not of the kind float"):
            dequantise(self.acc, self.z, self.z)
        with pytest.raises(TensorError, match=r"K int8\[2, 3\] has to be int32"):
            requantise(self.skip, self.m, self.c, shift=0, low=0, high=1)
        with pytest.raises(TensorError, match=r"M int32\[1\] has to be int64"):
            requantise(self.acc, self.m, self.m, shift=0, low=0, high=1)

    def test_an_axis_that_the_scales_do_not_fit(self) -> None:
        three = placeholder((3,), FLOAT32, "T")
        with pytest.raises(
            TensorError, match=r"T float32\[3\] has to be float32\[\], \[1\] or \[2\]: axis 0 of X"
        ):
            quantise(self.x, three, self.z, axis=0)
        with pytest.raises(TensorError, match=r"X float32\[2, 3\] has no axis 2: -2\.\.1"):
            quantise(self.x, three, self.z, axis=2)

    @pytest.mark.parametrize(
        ("shift", "low", "high", "message"),
        [
            (32, 0, 1, r"shift is 32: it has to lie in 0\.\.31"),
            (-1, 0, 1, "shift is -1"),
            (0, 1, 0, r"limits 1\.\.0 are no range"),
            (0, 0, 1 << 31, "are no range within 32 bits"),
        ],
    )
    def test_numbers(self, shift: int, low: int, high: int, message: str) -> None:
        with pytest.raises(TensorError, match=message):
            requantise(self.acc, self.m, self.c, shift=shift, low=low, high=high)

    @pytest.mark.parametrize(("shape", "dtype"), [((2, 1), INT8), ((2, 3), INT32), ((2, 3), UINT8)])
    def test_skip(self, shape: tuple[int, ...], dtype: DType) -> None:
        skip = placeholder(shape, dtype, "K")
        with pytest.raises(TensorError, match=r"has to be int8 or int16, of the shape of A int32"):
            requantise_add(self.acc, self.m, self.c, skip, self.m, shift=0, low=0, high=1)

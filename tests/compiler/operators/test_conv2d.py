"""Convolution equals ONNX's reference, whatever its shapes and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8, INT16, INT32, INT64, UINT8, DType
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import stages
from tests.support.compiler.operators.operators import (
    Array,
    evaluate,
    given_as,
    numbers,
    onnx,
    same,
)


def check(x: Array, w: Array, b: Array | None = None, **attributes: Any) -> None:
    arrays = {"X": x, "W": w} | ({} if b is None else {"B": b})
    tensors = {name: given_as(name, array) for name, array in arrays.items()}
    result = conv2d(tensors["X"], tensors["W"], bias=tensors.get("B"), **attributes)
    names = {"padding": "pads", "dilation": "dilations", "groups": "group", "strides": "strides"}
    renamed = {names[name]: value for name, value in attributes.items() if name in names}
    wide = [None if each is None else each.astype("float64") for each in (x, w, b)]
    if x.dtype.kind == "f":
        same(evaluate(result, arrays), onnx("Conv", x, w, b, **renamed))
    else:
        expected = onnx("Conv", *wide, **renamed)
        same(evaluate(result, arrays), expected.astype(result.dtype.numpy))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("image", "weight", "attributes"),
    [
        ((1, 1, 1, 1), (1, 1, 1, 1), {}),
        ((2, 3, 7, 5), (4, 3, 3, 3), {"padding": (1, 1, 1, 1)}),
        ((1, 3, 9, 8), (2, 3, 3, 3), {"strides": (2, 2), "padding": (1, 1, 1, 1)}),
        ((1, 2, 7, 9), (3, 2, 2, 4), {"strides": (3, 1), "padding": (0, 2, 1, 3)}),
        ((1, 3, 11, 11), (2, 3, 7, 7), {"strides": (2, 2), "padding": (3, 3, 3, 3)}),
        ((1, 2, 9, 10), (2, 2, 3, 2), {"dilation": (2, 3), "padding": (1, 0, 2, 1)}),
        ((1, 4, 6, 6), (6, 2, 3, 3), {"groups": 2, "padding": (1, 1, 1, 1)}),
        ((2, 3, 5, 6), (3, 1, 3, 3), {"groups": 3, "padding": (1, 1, 1, 1)}),
        ((1, 3, 5, 6), (6, 1, 3, 2), {"groups": 3, "strides": (2, 2)}),
        ((1, 5, 4, 4), (7, 5, 1, 1), {}),
        ((1, 4, 5, 5), (3, 4, 1, 1), {"strides": (2, 2)}),
        ((1, 2, 4, 5), (2, 2, 4, 5), {}),
        ((1, 1, 1, 2), (1, 1, 3, 3), {"padding": (2, 1, 1, 2)}),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
def test_against_onnx(
    image: tuple[int, ...],
    weight: tuple[int, ...],
    attributes: dict[str, Any],
    bias: bool,
    dtype: str,
) -> None:
    whole = dtype != "float32"
    w = numbers(2, weight, "int8" if whole else dtype)
    b = numbers(3, weight[:1], "int32" if whole else dtype) if bias else None
    check(numbers(1, image, dtype), w, b, **attributes)


@given(data=st.data())
@settings(max_examples=40)
def test_any_attributes(data: st.DataObject) -> None:
    small = st.integers(1, 3)
    groups, inputs, outputs, batch = (data.draw(small) for _ in range(4))
    kernel = [data.draw(small) for _ in range(2)]
    height, width = (data.draw(st.integers(1, 8)) for _ in range(2))
    strides, dilation = ([data.draw(small) for _ in range(2)] for _ in range(2))
    padding = [data.draw(st.integers(0, 2)) for _ in range(4)]
    assume(height + padding[0] + padding[2] > dilation[0] * (kernel[0] - 1))
    assume(width + padding[1] + padding[3] > dilation[1] * (kernel[1] - 1))
    x = numbers(0, (batch, groups * inputs, height, width), "int8")
    w = numbers(1, (groups * outputs, inputs, *kernel), "int8")
    check(x, w, strides=strides, dilation=dilation, padding=padding, groups=groups)


def test_no_images() -> None:
    check(numbers(0, (0, 2, 4, 4)), numbers(1, (3, 2, 3, 3)), padding=(1, 1, 1, 1))


def test_no_outputs() -> None:
    x, w = numbers(0, (1, 2, 4, 4)), numbers(1, (0, 2, 3, 3))
    result = evaluate(conv2d(given_as("X", x), given_as("W", w)), {"X": x, "W": w})
    assert result.shape == (1, 0, 2, 2)


def test_sums_do_not_overflow() -> None:
    x = np.full((1, 40, 3, 3), -128, "int8")
    w = np.full((1, 40, 3, 3), -128, "int8")
    tensor = conv2d(given_as("X", x), given_as("W", w))
    assert evaluate(tensor, {"X": x, "W": w}).item() == 128 * 128 * 360


def image(dtype: DType = FLOAT32, *shape: int) -> Tensor:
    return placeholder(shape or (1, 4, 8, 8), dtype, "X")


def filters(dtype: DType = FLOAT32, *shape: int) -> Tensor:
    return placeholder(shape or (6, 4, 3, 3), dtype, "W")


@pytest.mark.parametrize(
    ("data", "weight", "out", "expected"),
    [
        (INT8, INT8, None, INT32),
        (UINT8, INT8, None, INT32),
        (INT16, INT8, None, INT32),
        (INT64, INT8, None, INT64),
        (INT8, INT8, INT64, INT64),
        (INT8, INT8, INT8, INT8),
        (INT8, INT8, DType(INT8.kind, 24), DType(INT8.kind, 24)),
        (FLOAT32, FLOAT32, None, FLOAT32),
    ],
)
def test_types_of_sums(data: DType, weight: DType, out: DType | None, expected: DType) -> None:
    assert conv2d(image(data), filters(weight), out_dtype=out).dtype == expected


def test_stages() -> None:
    bias = placeholder((6,), FLOAT32, "B")
    result = conv2d(image(), filters(), bias=bias, padding=(1, 0, 0, 0), name="first")
    assert [each.name for each in stages([result])] == [
        *("X", "first_pad", "W", "first_sum", "B", "first")
    ]
    plain = conv2d(image(), filters(), name="second")
    assert [each.name for each in stages([plain])] == ["X", "W", "second"]


class TestRefusals:
    def test_channels(self) -> None:
        with pytest.raises(
            TensorError,
            match=r"conv2d conv: W float32\[6, 3, 3, 3\] has 6 output channels and 3 input "
            r"channels a group; X float32\[1, 4, 8, 8\] has 4 in 1 groups",
        ):
            conv2d(image(), filters(FLOAT32, 6, 3, 3, 3))

    @pytest.mark.parametrize("groups", [0, 3, 4])
    def test_groups(self, groups: int) -> None:
        with pytest.raises(TensorError, match=f"in {groups} groups"):
            conv2d(image(), filters(FLOAT32, 6, 1, 3, 3), groups=groups)

    def test_ranks(self) -> None:
        with pytest.raises(TensorError, match=r"X float32\[4, 8, 8\] has to have 4 dimensions, N"):
            conv2d(image(FLOAT32, 4, 8, 8), filters())
        with pytest.raises(TensorError, match=r"W float32\[6, 4, 3\] has to have 4 dimensions, O"):
            conv2d(image(), filters(FLOAT32, 6, 4, 3))

    def test_window_larger_than_image(self) -> None:
        with pytest.raises(
            TensorError, match=r"axis 3 of X .* with padding 0 and 1 has 9 elements, .* needs 11"
        ):
            conv2d(image(), filters(), dilation=(1, 5), padding=(0, 0, 0, 1))

    def test_numbers(self) -> None:
        with pytest.raises(TensorError, match=r"padding \[1, 1\] has to be 4 numbers"):
            conv2d(image(), filters(), padding=(1, 1))
        with pytest.raises(TensorError, match=r"padding \[0, 0, -1, 0\] has a number below 0"):
            conv2d(image(), filters(), padding=(0, 0, -1, 0))
        with pytest.raises(TensorError, match=r"strides \[0, 1\] has a number below 1"):
            conv2d(image(), filters(), strides=(0, 1))
        with pytest.raises(TensorError, match=r"dilation \[1\] has to be 2 numbers"):
            conv2d(image(), filters(), dilation=(1,))

    def test_empty(self) -> None:
        with pytest.raises(TensorError, match="has no channels"):
            conv2d(image(FLOAT32, 1, 0, 8, 8), filters(FLOAT32, 6, 0, 3, 3))
        with pytest.raises(TensorError, match=r"kernel \[0, 3\] has a number below 1"):
            conv2d(image(), filters(FLOAT32, 6, 4, 0, 3))

    def test_types(self) -> None:
        with pytest.raises(TensorError, match="types that do not multiply: cast one"):
            conv2d(image(), filters(INT8))
        with pytest.raises(TensorError, match="products of bools"):
            conv2d(image(BOOL), filters(BOOL))
        with pytest.raises(TensorError, match="out_dtype int8 does not hold products of X int16"):
            conv2d(image(INT16), filters(INT8), out_dtype=INT8)

    def test_bias(self) -> None:
        wrong = placeholder((6,), INT8, "B")
        with pytest.raises(TensorError, match=r"bias B int8\[6\] has to be int32\[6\]"):
            conv2d(image(INT8), filters(INT8), bias=wrong)

"""Pooling equals a plain loop over windows, and ONNX's reference where that can be relied on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8
from tandem.compiler.operators.pool import (
    average_pool,
    global_average_pool,
    global_max_pool,
    max_pool,
)
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import (
    Array,
    evaluate,
    given_as,
    numbers,
    onnx,
    same,
)


def windows(
    x: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    include_pad: bool,
) -> tuple[tuple[int, ...], dict[tuple[int, ...], list[tuple[int, ...]]]]:
    """What each window covers, as places in the image; those in the padding stay with
    `include_pad`. By the text of ONNX's standard: a window counts that begins in the image or
    in the padding before it."""
    rank = len(kernel)
    starts: list[list[list[int]]] = []
    for axis in range(rank):
        extent, before, after = x.shape[2 + axis], padding[axis], padding[rank + axis]
        reach = (kernel[axis] - 1) * dilation[axis] + 1
        places = []
        start = -before
        while start + reach <= extent + after or (
            ceil_mode and start - strides[axis] + reach < extent + after and start < extent
        ):
            window = [start + k * dilation[axis] for k in range(kernel[axis])]
            low, high = (-before, extent + after) if include_pad else (0, extent)
            places.append([place for place in window if low <= place < high])
            start += strides[axis]
        starts.append(places)
    covered = {
        where: list(product(*(starts[axis][i] for axis, i in enumerate(where))))
        for where in product(*(range(len(each)) for each in starts))
    }
    return tuple(len(each) for each in starts), covered


def reference(x: Array, kind: str, **attributes: Any) -> Array:
    counts, covered = windows(x, **attributes)
    result = np.zeros((*x.shape[:2], *counts), x.dtype)
    for n, c in product(range(x.shape[0]), range(x.shape[1])):
        for where, places in covered.items():
            inside = [
                x[(n, c, *place)]
                for place in places
                if all(0 <= p < e for p, e in zip(place, x.shape[2:], strict=True))
            ]
            result[(n, c, *where)] = (
                max(inside, default=-np.inf) if kind == "max" else sum(inside) / len(places)
            )
    return result


def check(x: Array, kernel: Sequence[int], include_pad: bool = False, **given_: Any) -> None:
    rank = len(kernel)
    attributes: dict[str, Any] = {
        "strides": (1,) * rank,
        "padding": (0,) * 2 * rank,
        "dilation": (1,) * rank,
        "ceil_mode": False,
    } | given_
    tensor = given_as("X", x)
    plain = {"kernel": kernel, **attributes}
    greatest = evaluate(max_pool(tensor, kernel, **attributes), {"X": x})
    same(greatest, reference(x, "max", include_pad=False, **plain))
    if x.dtype.kind == "f":
        mean = average_pool(tensor, kernel, count_include_pad=include_pad, **attributes)
        same(evaluate(mean, {"X": x}), reference(x, "mean", include_pad=include_pad, **plain))


CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 1, 1, 1), (1, 1), {}),
    ((2, 3, 6, 7), (2, 2), {"strides": (2, 2)}),
    ((1, 2, 11, 11), (3, 3), {"strides": (2, 2), "padding": (1, 1, 1, 1)}),
    ((1, 2, 5, 9), (3, 2), {"strides": (1, 3), "padding": (1, 0, 0, 1)}),
    ((1, 1, 8, 7), (3, 3), {"dilation": (2, 3)}),
    ((1, 1, 8, 7), (3, 2), {"dilation": (3, 2), "padding": (2, 1, 2, 1)}),
    ((1, 2, 6, 6), (3, 3), {"strides": (2, 2), "ceil_mode": True}),
    ((1, 2, 6, 5), (2, 2), {"strides": (3, 3), "ceil_mode": True, "padding": (1, 1, 1, 1)}),
    ((2, 3, 9), (4,), {"strides": (2,), "padding": (1, 2)}),
    ((1, 2, 4, 5, 3), (2, 3, 2), {"strides": (2, 1, 1), "padding": (1, 1, 0, 0, 1, 1)}),
    ((0, 2, 4, 4), (2, 2), {}),
    ((2, 0, 4, 4), (2, 2), {}),
]


@pytest.mark.parametrize("include_pad", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
@pytest.mark.parametrize(("shape", "kernel", "attributes"), CASES)
def test_against_a_loop(
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    attributes: dict[str, Any],
    dtype: str,
    include_pad: bool,
) -> None:
    check(numbers(0, shape, dtype), kernel, include_pad, **attributes)


@given(data=st.data())
@settings(max_examples=20)
def test_any_attributes(data: st.DataObject) -> None:
    kernel, strides, dilation = (
        [data.draw(st.integers(1, high)) for _ in range(2)] for high in (3, 4, 3)
    )
    shape = (1, 2, *(data.draw(st.integers(1, 7)) for _ in range(2)))
    padding = [data.draw(st.integers(0, kernel[axis % 2] - 1)) for axis in range(4)]
    for axis in range(2):
        whole = shape[2 + axis] + padding[axis] + padding[2 + axis]
        assume(whole > dilation[axis] * (kernel[axis] - 1))
    given_: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation}
    given_ |= {"ceil_mode": data.draw(st.booleans())}
    include_pad = data.draw(st.booleans())
    x = numbers(1, shape)
    _, covered = windows(x, kernel, include_pad=False, **given_)
    assume(all(covered.values()))
    check(x, kernel, include_pad, **given_)


@pytest.mark.parametrize("include_pad", [0, 1])
def test_against_onnx(include_pad: int) -> None:
    x = numbers(0, (2, 3, 9, 9))
    attributes: dict[str, Any] = {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    ours: dict[str, Any] = {"strides": (2, 2), "padding": (1, 1, 1, 1)}
    tensor = given_as("X", x)
    same(
        evaluate(
            average_pool(tensor, (3, 3), count_include_pad=bool(include_pad), **ours), {"X": x}
        ),
        onnx("AveragePool", x, count_include_pad=include_pad, **attributes),
    )
    same(evaluate(max_pool(tensor, (3, 3), **ours), {"X": x}), onnx("MaxPool", x, **attributes))


@pytest.mark.parametrize("shape", [(2, 3, 7, 5), (1, 4, 1, 1), (2, 3, 6), (1, 2, 3, 4, 5)])
def test_global(shape: tuple[int, ...]) -> None:
    x = numbers(0, shape)
    tensor = given_as("X", x)
    axes = tuple(range(2, len(shape)))
    same(evaluate(global_average_pool(tensor), {"X": x}), x.mean(axes, keepdims=True))
    same(evaluate(global_max_pool(tensor), {"X": x}), x.max(axes, keepdims=True))


def test_nan_is_the_greatest() -> None:
    x = np.array([[[1.0, np.nan, 2.0, 3.0]]], "float32")
    result = evaluate(max_pool(given_as("X", x), (2,)), {"X": x})
    same(result, np.array([[[np.nan, np.nan, 3.0]]], "float32"))


class TestRefusals:
    x = placeholder((1, 2, 4, 4), FLOAT32, "X")

    def test_window(self) -> None:
        with pytest.raises(TensorError, match=r"max_pool p: axis 2 of X .* needs 5"):
            max_pool(self.x, (5, 1), name="p")

    def test_only_padding(self) -> None:
        with pytest.raises(TensorError, match=r"window 0 on axis 3 of X .* holds only padding"):
            average_pool(self.x, (1, 2), padding=(0, 2, 0, 0))
        with pytest.raises(TensorError, match=r"window 4 on axis 2 of X .* holds only padding"):
            max_pool(placeholder((1, 2, 4, 4), INT8, "X"), (1, 1), padding=(0, 0, 1, 0))

    def test_rank(self) -> None:
        with pytest.raises(
            TensorError, match=r"X float32\[1, 2\] has to have 3, 4 or 5 dimensions"
        ):
            max_pool(placeholder((1, 2), FLOAT32, "X"), (1,))
        with pytest.raises(TensorError, match="3 dimensions or more, N, C and spatial"):
            global_max_pool(placeholder((1, 2), FLOAT32, "X"))
        with pytest.raises(TensorError, match=r"kernel \[2\] has to be 2 numbers"):
            max_pool(self.x, (2,))

    def test_types(self) -> None:
        with pytest.raises(TensorError, match=r"X int8\[1, 1, 2\] is not of the kind float"):
            average_pool(placeholder((1, 1, 2), INT8, "X"), (1,))
        with pytest.raises(TensorError, match="is not of the kind int, uint, float"):
            max_pool(placeholder((1, 1, 2), BOOL, "X"), (1,))

    def test_empty_image(self) -> None:
        with pytest.raises(TensorError, match=r"axis 3 of X float32\[1, 2, 3, 0\] is empty"):
            global_average_pool(placeholder((1, 2, 3, 0), FLOAT32, "X"))

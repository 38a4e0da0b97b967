"""Gathering equals ONNX's reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT64
from tandem.compiler.operators.gather import gather, gather_elements, gather_nd, one_hot
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.broadcasts import shapes
from tests.support.compiler.operators.operators import (
    Array,
    evaluate,
    given_as,
    numbers,
    onnx,
    same,
)


def indices(seed: int, shape: tuple[int, ...], extent: int, dtype: str = "int64") -> Array:
    low = 0 if dtype.startswith("u") else -extent
    return np.random.default_rng(seed).integers(low, extent, shape).astype(dtype)


@given(
    data=st.data(),
    shape=shapes(least=1, smallest=1),
    where=shapes(most=3, extent=3),
    dtype=st.sampled_from(["int64", "int32", "uint8"]),
)
@settings(max_examples=50)
def test_gather(
    data: st.DataObject, shape: tuple[int, ...], where: tuple[int, ...], dtype: str
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x, i = numbers(0, shape), indices(1, where, shape[axis], dtype)
    result = evaluate(gather(given_as("X", x), given_as("I", i), axis), {"X": x, "I": i})
    same(result, np.take(x, i, axis))


@given(data=st.data(), shape=shapes(least=1, smallest=1))
@settings(max_examples=30)
def test_gather_elements(data: st.DataObject, shape: tuple[int, ...]) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    where = tuple(
        data.draw(st.integers(0, 5 if number == axis % len(shape) else extent))
        for number, extent in enumerate(shape)
    )
    x, i = numbers(0, shape), indices(1, where, shape[axis])
    result = evaluate(gather_elements(given_as("X", x), given_as("I", i), axis), {"X": x, "I": i})
    along = tuple(slice(None) if n == axis % len(shape) else slice(e) for n, e in enumerate(where))
    same(result, np.take_along_axis(x[along], i, axis))


@pytest.mark.parametrize(
    ("shape", "where", "batch"),
    [
        ((3, 4), (2, 2), 0),
        ((3, 4), (2, 1), 0),
        ((3, 4, 5), (2, 3, 2), 0),
        ((3, 4, 5), (3, 1), 1),
        ((2, 3, 4, 5), (2, 3, 2, 1), 2),
        ((3,), (1,), 0),
        ((3, 4), (0, 2), 0),
    ],
)
def test_gather_nd(shape: tuple[int, ...], where: tuple[int, ...], batch: int) -> None:
    x, i = numbers(0, shape), indices(1, where, 3)
    i = np.where(i < 0, i % 3, i)
    result = gather_nd(given_as("X", x), given_as("I", i), batch_dims=batch)
    expected = onnx("GatherND", x, i, batch_dims=batch)
    same(evaluate(result, {"X": x, "I": i}), expected.astype("float32").reshape(result.shape))


@pytest.mark.parametrize("axis", [-1, 0, 1, -3])
def test_one_hot(axis: int) -> None:
    i = np.array([[0, 2, -1], [4, -5, 7]], "int64")
    values = np.array([-1.0, 3.0], "float32")
    result = one_hot(given_as("I", i), 5, given_as("V", values), axis)
    expected = onnx("OneHot", np.where(np.abs(i) > 5, 99, i), np.array(5), values, axis=axis)
    hot = np.where(np.expand_dims(i == 7, axis), np.float32(-1.0), expected)
    same(evaluate(result, {"I": i, "V": values}), hot)


def test_an_index_out_of_range_takes_the_nearest() -> None:
    x, i = numbers(0, (3, 2)), np.array([3, 100, -4, -100, np.iinfo("int64").min])
    result = evaluate(gather(given_as("X", x), given_as("I", i)), {"X": x, "I": i})
    same(result, x[[2, 2, 0, 0, 0]])


class TestRefusals:
    x = placeholder((2, 0, 4), FLOAT32, "X")
    i = placeholder((3,), INT64, "I")

    @pytest.mark.parametrize("operator", [gather, gather_elements, gather_nd])
    def test_types(self, operator: object) -> None:
        assert callable(operator)
        with pytest.raises(TensorError, match=r"F float32\[3\] is not of the kind int, uint"):
            operator(self.x, placeholder((3,), FLOAT32, "F"))

    def test_axis(self) -> None:
        with pytest.raises(TensorError, match=r"gather g: X .* has no axis 3: -3..2"):
            gather(self.x, self.i, 3, name="g")
        with pytest.raises(
            TensorError, match=r"one_hot one_hot: I int64\[3\] has no axis 2: -2..1"
        ):
            one_hot(self.i, 4, placeholder((2,), FLOAT32, "V"), 2)

    def test_nothing_to_pick(self) -> None:
        with pytest.raises(TensorError, match=r"axis 1 of X .* is empty: nothing to select"):
            gather(self.x, self.i, 1)

    def test_nothing_is_picked(self) -> None:
        assert gather(self.x, placeholder((0,), INT64, "I"), 1).shape == (2, 0, 4)

    def test_shapes(self) -> None:
        data = placeholder((2, 3), FLOAT32, "D")
        with pytest.raises(TensorError, match=r"W int64\[3, 1\] does not lie within D"):
            gather_elements(data, placeholder((3, 1), INT64, "W"), 1)
        with pytest.raises(TensorError, match="3 coordinates"):
            gather_nd(data, placeholder((4, 3), INT64, "W"))
        with pytest.raises(TensorError, match="the first 1 axes differ"):
            gather_nd(data, placeholder((4, 1), INT64, "W"), batch_dims=1)
        with pytest.raises(TensorError, match="with 1 batch axes"):
            gather_nd(data, placeholder((2,), INT64, "W"), batch_dims=1)

    def test_one_hot(self) -> None:
        with pytest.raises(TensorError, match=r"V float32\[3\] has to be two values, off and on"):
            one_hot(self.i, 4, placeholder((3,), FLOAT32, "V"))
        with pytest.raises(TensorError, match="the depth -1 is negative"):
            one_hot(self.i, -1, placeholder((2,), FLOAT32, "V"))

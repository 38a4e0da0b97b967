"""Normalisation equals ONNX's reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.operators.norm import (
    batch_norm,
    instance_norm,
    layer_norm,
    log_softmax,
    rms_norm,
    softmax,
)
from tandem.compiler.te import placeholder
from tandem.compiler.te.build import stages
from tests.support.compiler.operators.broadcasts import shapes
from tests.support.compiler.operators.operators import evaluate, given_as, numbers, onnx, same


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 5), (1, 4, 3, 5), (0, 2, 3)])
@pytest.mark.parametrize("epsilon", [1e-5, 0.5])
def test_batch_norm(shape: tuple[int, ...], epsilon: float) -> None:
    arrays = {"X": numbers(0, shape)}
    for number, name in enumerate("SBMV"):
        arrays[name] = numbers(number + 1, shape[1:2])
    arrays["V"] = np.abs(arrays["V"])
    tensors = [given_as(name, array) for name, array in arrays.items()]
    result = evaluate(batch_norm(*tensors, epsilon=epsilon), arrays)
    same(result, onnx("BatchNormalization", *arrays.values(), epsilon=epsilon))


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 4, 3, 5)])
def test_instance_norm(shape: tuple[int, ...]) -> None:
    arrays = {"X": numbers(0, shape), "S": numbers(1, shape[1:2]), "B": numbers(2, shape[1:2])}
    tensors = [given_as(name, array) for name, array in arrays.items()]
    result = evaluate(instance_norm(*tensors), arrays)
    same(result, onnx("InstanceNormalization", *arrays.values()))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("biased", [False, True])
def test_layer_norm(axis: int, biased: bool) -> None:
    x = numbers(0, (2, 3, 4))
    arrays = {"X": x, "S": numbers(1, x.shape[axis:])}
    if biased:
        arrays["B"] = numbers(2, x.shape[axis:])
    tensors = [given_as(name, array) for name, array in arrays.items()]
    result = evaluate(layer_norm(*tensors, axis=axis, epsilon=1e-3), arrays)
    same(result, onnx("LayerNormalization", *arrays.values(), axis=axis, epsilon=1e-3))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rms_norm(axis: int) -> None:
    x = numbers(0, (2, 3, 4), "float64")
    arrays = {"X": x, "S": numbers(1, x.shape[axis:], "float64")}
    tensors = [given_as(name, array) for name, array in arrays.items()]
    result = evaluate(rms_norm(*tensors, axis=axis, epsilon=0.0), arrays)
    over = tuple(range(axis % 3, 3))
    expected = x / np.sqrt((x * x).mean(over, keepdims=True)) * arrays["S"]
    same(result, expected)


class TestRefusals:
    x = placeholder((2, 3), FLOAT32, "X")
    channel = placeholder((3,), FLOAT32, "S")
    wrong = placeholder((2,), FLOAT32, "W")

    def test_channels(self) -> None:
        with pytest.raises(
            TensorError, match=r"batch_norm b: W float32\[2\] has to be float32\[3\]"
        ):
            batch_norm(self.x, self.channel, self.wrong, self.channel, self.channel, name="b")
        with pytest.raises(TensorError, match="has to have 2 dimensions or more, N and C"):
            instance_norm(self.channel, self.channel, self.channel)
        with pytest.raises(TensorError, match=r"X float32\[2, 3\] has no spatial axes"):
            instance_norm(self.x, self.channel, self.channel)

    def test_scale(self) -> None:
        with pytest.raises(
            TensorError, match=r"X float32\[2, 3\], W float32\[2\] do not broadcast"
        ):
            layer_norm(self.x, self.wrong)
        with pytest.raises(TensorError, match=r"D float32\[4, 2, 3\] does not broadcast to X"):
            rms_norm(self.x, placeholder((4, 2, 3), FLOAT32, "D"))

    def test_axis(self) -> None:
        with pytest.raises(TensorError, match=r"X float32\[2, 3\] has no axis 2: -2..1"):
            layer_norm(self.x, self.channel, axis=2)
        empty = placeholder((2, 0), FLOAT32, "E")
        with pytest.raises(TensorError, match=r"axis 1 of E float32\[2, 0\] is empty"):
            layer_norm(empty, placeholder((0,), FLOAT32, "S"))

    def test_types(self) -> None:
        with pytest.raises(TensorError, match=r"N int8\[2, 3\] is not of the kind float"):
            layer_norm(placeholder((2, 3), INT8, "N"), self.channel)


BOTH = ((softmax, "Softmax"), (log_softmax, "LogSoftmax"))


@given(data=st.data(), shape=shapes(least=1, smallest=1), wide=st.booleans())
@settings(max_examples=15)
def test_softmax_against_onnx(data: st.DataObject, shape: tuple[int, ...], wide: bool) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = numbers(0, shape, "float64" if wide else "float32")
    for operator, name in BOTH:
        same(evaluate(operator(given_as("X", x), axis=axis), {"X": x}), onnx(name, x, axis=axis))


def test_softmax_of_large_numbers_do_not_overflow() -> None:
    x = np.array([[1000.0, 1000.0, 0.0], [-1000.0, -2000.0, -np.inf]], "float32")
    result = evaluate(softmax(given_as("X", x)), {"X": x})
    same(result, np.array([[0.5, 0.5, 0], [1, 0, 0]], "float32"))
    result = evaluate(log_softmax(given_as("X", x)), {"X": x})
    log2 = np.log(2)
    same(result, np.array([[-log2, -log2, -1000 - log2], [0, -1000, -np.inf]], "float32"))


def test_softmax_of_empty_rows() -> None:
    x = numbers(0, (0, 4))
    same(evaluate(softmax(given_as("X", x)), {"X": x}), x)


def test_stages_of_softmax() -> None:
    result = softmax(placeholder((2, 3), FLOAT32, "X"), name="p")
    assert [each.name for each in stages([result])] == [
        "X",
        "p_max",
        "p_exp",
        "p_sum",
        "p_factor",
        "p",
    ]


@pytest.mark.parametrize(("operator", "name"), [(softmax, "softmax"), (log_softmax, "log_softmax")])
def test_refusals_of_softmax(operator: object, name: str) -> None:
    assert callable(operator)
    with pytest.raises(TensorError, match=rf"{name} p: X float32\[2, 3\] has no axis 2: -2..1"):
        operator(placeholder((2, 3), FLOAT32, "X"), axis=2, name="p")
    with pytest.raises(TensorError, match=r"N int8\[2\] is not of the kind float"):
        operator(placeholder((2,), INT8, "N"))

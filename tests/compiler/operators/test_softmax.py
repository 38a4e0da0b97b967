"""Softmax and its logarithm equal ONNX's reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import TensorError
from compiler.ir.dtypes import FLOAT32, INT8
from compiler.operators.softmax import log_softmax, softmax
from compiler.te import placeholder
from compiler.te.build import stages
from tests.support.broadcasts import shapes
from tests.support.operators import evaluate, given_as, numbers, onnx, same

BOTH = ((softmax, "Softmax"), (log_softmax, "LogSoftmax"))


@given(data=st.data(), shape=shapes(least=1, smallest=1), wide=st.booleans())
@settings(max_examples=15)
def test_against_onnx(data: st.DataObject, shape: tuple[int, ...], wide: bool) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = numbers(0, shape, "float64" if wide else "float32")
    for operator, name in BOTH:
        same(evaluate(operator(given_as("X", x), axis=axis), {"X": x}), onnx(name, x, axis=axis))


def test_large_numbers_do_not_overflow() -> None:
    x = np.array([[1000.0, 1000.0, 0.0], [-1000.0, -2000.0, -np.inf]], "float32")
    result = evaluate(softmax(given_as("X", x)), {"X": x})
    same(result, np.array([[0.5, 0.5, 0], [1, 0, 0]], "float32"))
    result = evaluate(log_softmax(given_as("X", x)), {"X": x})
    log2 = np.log(2)
    same(result, np.array([[-log2, -log2, -1000 - log2], [0, -1000, -np.inf]], "float32"))


def test_empty_rows() -> None:
    x = numbers(0, (0, 4))
    same(evaluate(softmax(given_as("X", x)), {"X": x}), x)


def test_stages() -> None:
    result = softmax(placeholder((2, 3), FLOAT32, "X"), name="p")
    assert [each.name for each in stages([result])] == ["X", "p_max", "p_exp", "p_sum", "p"]


@pytest.mark.parametrize(("operator", "name"), [(softmax, "softmax"), (log_softmax, "log_softmax")])
def test_refusals(operator: object, name: str) -> None:
    assert callable(operator)
    with pytest.raises(TensorError, match=rf"{name} p: X float32\[2, 3\] has no axis 2: -2..1"):
        operator(placeholder((2, 3), FLOAT32, "X"), axis=2, name="p")
    with pytest.raises(TensorError, match=r"axis 1 of X float32\[2, 0\] is empty"):
        operator(placeholder((2, 0), FLOAT32, "X"))
    with pytest.raises(TensorError, match=r"N int8\[2\] is not of the kind float"):
        operator(placeholder((2,), INT8, "N"))

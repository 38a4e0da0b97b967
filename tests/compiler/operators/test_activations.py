"""Activations against their formulas in NumPy, at and around the places where they bend."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import INT8, UINT8
from tandem.compiler.operators import activations
from tandem.compiler.operators.activations import GeluForm
from tandem.compiler.operators.broadcast import Elementwise
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import Array, given_as, interpreted

X = np.array([-7.5, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 7.5])
erf = np.vectorize(math.erf, otypes=[float])


def run(operator: Elementwise, *arrays: Array, **attributes: Any) -> Array:
    named = {f"x{at}": array for at, array in enumerate(arrays)}
    tensors = [given_as(name, array) for name, array in named.items()]
    return interpreted(operator(*tensors, **attributes), named)


def sigmoid(x: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-x))
    return found


def softplus(x: Array) -> Array:
    found: Array = np.log1p(np.exp(x))
    return found


def tanh_gelu(x: Array) -> Array:
    found: Array = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return found


ALPHA, GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("relu", {}, lambda x: np.maximum(x, 0)),
        ("leaky_relu", {}, lambda x: np.where(x < 0, 0.01 * x, x)),
        ("leaky_relu", {"alpha": 0.5}, lambda x: np.where(x < 0, 0.5 * x, x)),
        ("thresholded_relu", {}, lambda x: np.where(x > 1, x, 0)),
        ("thresholded_relu", {"alpha": 0.5}, lambda x: np.where(x > 0.5, x, 0)),
        ("elu", {}, lambda x: np.where(x < 0, np.exp(x) - 1, x)),
        ("elu", {"alpha": 2.0}, lambda x: np.where(x < 0, 2 * np.exp(x) - 2, x)),
        ("selu", {}, lambda x: GAMMA * np.where(x > 0, x, ALPHA * (np.exp(x) - 1))),
        (
            "selu",
            {"alpha": 2.0, "gamma": 3.0},
            lambda x: 3 * np.where(x > 0, x, 2 * (np.exp(x) - 1)),
        ),
        ("celu", {}, lambda x: np.maximum(x, 0) + np.minimum(0, np.exp(x) - 1)),
        (
            "celu",
            {"alpha": 2.0},
            lambda x: np.maximum(x, 0) + np.minimum(0, 2 * (np.exp(x / 2) - 1)),
        ),
        ("gelu", {}, lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))),
        ("gelu", {"approximate": GeluForm.TANH}, tanh_gelu),
        ("sigmoid", {}, sigmoid),
        ("hard_sigmoid", {}, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
        ("hard_sigmoid", {"alpha": 0.5, "beta": 0.25}, lambda x: np.clip(0.5 * x + 0.25, 0, 1)),
        ("hard_swish", {}, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
        ("swish", {}, lambda x: x * sigmoid(x)),
        ("swish", {"alpha": 2.0}, lambda x: x * sigmoid(2 * x)),
        ("softplus", {}, softplus),
        ("softsign", {}, lambda x: x / (1 + abs(x))),
        ("mish", {}, lambda x: x * np.tanh(softplus(x))),
        ("shrink", {}, lambda x: np.where(abs(x) > 0.5, x, 0)),
        (
            "shrink",
            {"lambd": 1.0, "bias": 0.25},
            lambda x: np.where(abs(x) > 1, x - 0.25 * np.sign(x), 0),
        ),
    ],
)
def test_formulas(name: str, given: dict[str, Any], wanted: Callable[[Array], Array]) -> None:
    found = run(getattr(activations, name), X, **given)
    np.testing.assert_allclose(found, wanted(X), rtol=1e-14, atol=1e-16)


def test_no_overflow() -> None:
    np.testing.assert_array_equal(run(activations.softplus, np.array([1000.0, -1000.0])), [1000, 0])


def test_slopes_are_operands() -> None:
    x = np.array([[-4, 3], [5, -6]], np.int8)
    slope = np.array([2, 3], np.int8)
    np.testing.assert_array_equal(run(activations.prelu, x, slope), [[-8, 3], [5, -18]])
    np.testing.assert_array_equal(
        run(activations.prelu, np.array([-0.5, 0.5]), np.array([4.0])), [-2, 0.5]
    )
    np.testing.assert_array_equal(run(activations.relu, x), [[0, 3], [5, 0]])
    row = placeholder((2,), INT8, "x")
    with pytest.raises(TensorError, match=r"^prelu y: s .* does not broadcast to x"):
        activations.prelu(row, placeholder((2, 2), INT8, "s"), name="y")


def test_refusals() -> None:
    whole, unsigned = placeholder((2,), INT8, "x"), placeholder((2,), UINT8, "u")
    for operator in (activations.elu, activations.sigmoid, activations.mish, activations.gelu):
        with pytest.raises(TensorError, match="int8"):
            operator(whole)
    for operator in (activations.prelu, activations.shrink):
        with pytest.raises(TensorError, match="uint8"):
            operator(*(unsigned,) * (2 if operator is activations.prelu else 1))

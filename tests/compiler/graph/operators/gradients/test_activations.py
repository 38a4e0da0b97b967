"""Gradients of activations by the derivatives of their formulas, and at their corners."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.graph.calls import gradients
from tests.support.compiler.operators.operators import Array

X = np.array([-7.0, -2.5, -0.75, 0.625, 2.5, 7.0])
W = np.arange(1.0, 7.0)
GAMMA, ALPHA = 1.05070102214813232421875, 1.67326319217681884765625
erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-x))
    return found


def swish(x: Array, alpha: float = 1.0) -> Array:
    s = sigmoid(alpha * x)
    found: Array = s + alpha * x * s * (1 - s)
    return found


def gelu(x: Array) -> Array:
    found: Array = 0.5 * (1 + erf(x / math.sqrt(2))) + x * np.exp(-(x**2) / 2) / math.sqrt(
        2 * math.pi
    )
    return found


def tanh_gelu(x: Array) -> Array:
    root = math.sqrt(2 / math.pi)
    inner = root * (x + 0.044715 * x**3)
    rise = root * (1 + 3 * 0.044715 * x**2)
    found: Array = 0.5 * (1 + np.tanh(inner)) + 0.5 * x / np.cosh(inner) ** 2 * rise
    return found


def mish(x: Array) -> Array:
    t = np.tanh(np.log1p(np.exp(x)))
    found: Array = t + x * sigmoid(x) * (1 - t**2)
    return found


def between(x: Array, low: float, high: float) -> Array:
    return np.asarray((x > low) & (x < high), float)


@pytest.mark.parametrize(
    ("call", "slope"),
    [
        ("relu(x)", lambda x: x > 0),
        ("leaky_relu(x)", lambda x: np.where(x > 0, 1, 0.01)),
        ("leaky_relu(x, alpha=0.5)", lambda x: np.where(x > 0, 1, 0.5)),
        ("thresholded_relu(x)", lambda x: x > 1),
        ("thresholded_relu(x, alpha=3.0)", lambda x: x > 3),
        ("elu(x, alpha=2.0)", lambda x: np.where(x > 0, 1, 2 * np.exp(x))),
        ("selu(x)", lambda x: GAMMA * np.where(x > 0, 1, ALPHA * np.exp(x))),
        ("celu(x, alpha=2.0)", lambda x: np.where(x > 0, 1, np.exp(x / 2))),
        ("gelu(x)", gelu),
        ("gelu(x, approximate=tanh)", tanh_gelu),
        ("sigmoid(x)", lambda x: sigmoid(x) * (1 - sigmoid(x))),
        ("hard_sigmoid(x)", lambda x: 0.2 * between(x, -2.5, 2.5)),
        ("hard_sigmoid(x, alpha=0.5, beta=0.25)", lambda x: 0.5 * between(x, -0.5, 1.5)),
        ("hard_swish(x)", lambda x: np.where(x < -3, 0, np.where(x > 3, 1, x / 3 + 0.5))),
        ("swish(x)", swish),
        ("swish(x, alpha=2.0)", lambda x: swish(x, 2.0)),
        ("softplus(x)", sigmoid),
        ("softsign(x)", lambda x: 1 / (1 + abs(x)) ** 2),
        ("mish(x)", mish),
        ("shrink(x)", lambda x: abs(x) > 0.5),
        ("shrink(x, lambd=2.0, bias=0.5)", lambda x: abs(x) > 2),
    ],
)
def test_slopes(call: str, slope: Callable[[Array], Array]) -> None:
    (found,) = gradients("x: float64[6]", call, X)
    np.testing.assert_allclose(found, W * slope(X), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "corner", "slope"),
    [
        # The slope from below.
        ("relu(x)", 0, 0),
        ("leaky_relu(x, alpha=0.5)", 0, 0.5),
        ("elu(x, alpha=2.0)", 0, 2),
        ("selu(x, alpha=2.0, gamma=3.0)", 0, 6),
        ("thresholded_relu(x)", 1, 0),
        # Of flat sides.
        ("hard_sigmoid(x, alpha=0.5, beta=0.5)", 1, 0),
        ("hard_sigmoid(x, alpha=0.5, beta=0.5)", -1, 0),
        ("hard_swish(x)", -3, 0),
        ("hard_swish(x)", 3, 1),
        ("shrink(x)", 0.5, 0),
        ("shrink(x)", -0.5, 0),
    ],
)
def test_corners(call: str, corner: float, slope: float) -> None:
    (found,) = gradients("x: float64[1]", call, np.array([float(corner)]))
    assert found.tolist() == [slope]


def test_no_overflow() -> None:
    far = np.array([1e4, -1e4])
    for call, wanted in (
        ("elu(x)", [1, 0]),
        ("selu(x, alpha=1.0, gamma=1.0)", [1, 0]),
        ("celu(x)", [1, 0]),
        ("softplus(x)", [1, 0]),
    ):
        (found,) = gradients("x: float64[2]", call, far)
        assert found.tolist() == [wanted[0], 2 * wanted[1]]


def test_slopes_as_operands() -> None:
    x, slope = np.array([-2.0, 3.0, 0.0]), np.array([0.5, 0.25, 0.75])
    of_x, of_slope = gradients("x: float64[3], s: float64[3]", "prelu(x, s)", x, slope)
    assert of_x.tolist() == [0.5, 2, 3 * 0.75]
    assert of_slope.tolist() == [-2, 0, 0]
    one = gradients(
        "x: float64[3], s: float64[1]", "prelu(x, s)", np.array([-2.0, 3, -4]), slope[:1]
    )
    assert one[1].tolist() == [-2 - 12]

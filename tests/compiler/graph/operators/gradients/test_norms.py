"""Gradients of softmax and norms, against central differences of NumPy's formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.graph.calls import gradients
from tests.support.compiler.operators.operators import Array

RNG = np.random.default_rng(0)
X, SCALE, BIAS = RNG.standard_normal((2, 3, 4)), RNG.standard_normal(4), RNG.standard_normal(4)
CHANNELS = [RNG.uniform(0.5, 2, 3) for _ in range(4)]
Formula = Callable[..., Array]


def slopes(formula: Formula, operands: list[Array]) -> list[Array]:
    """The slopes of a sum of the result, weighed by 1, 2, 3, ..., in each element."""
    weights = np.arange(1.0, formula(*operands).size + 1).reshape(formula(*operands).shape)
    found = []
    for operand in operands:
        slope = np.zeros_like(operand)
        for place in np.ndindex(operand.shape):
            kept = operand[place]
            sides = []
            for step in (1e-6, -1e-6):
                operand[place] = kept + step
                sides.append((formula(*operands) * weights).sum())
            operand[place] = kept
            slope[place] = (sides[0] - sides[1]) / 2e-6
        found.append(slope)
    return found


def softmax(x: Array, axis: int) -> Array:
    found: Array = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
    return found


def normed(x: Array, axes: tuple[int, ...], epsilon: float, centre: bool = True) -> Array:
    away = x - x.mean(axes, keepdims=True) if centre else x
    found: Array = away / np.sqrt((away**2).mean(axes, keepdims=True) + epsilon)
    return found


def by(channels: Array) -> Array:
    return channels[:, None]


@pytest.mark.parametrize(
    ("params", "call", "formula", "operands"),
    [
        ("x: float64[2, 3, 4]", "softmax(x)", lambda x: softmax(x, 2), [X]),
        ("x: float64[2, 3, 4]", "softmax(x, axis=1)", lambda x: softmax(x, 1), [X]),
        ("x: float64[2, 3, 4]", "log_softmax(x, axis=-2)", lambda x: np.log(softmax(x, 1)), [X]),
        (
            "x: float64[2, 3, 4], s: float64[4]",
            "layer_norm(x, s, epsilon=0.1)",
            lambda x, s: normed(x, (2,), 0.1) * s,
            [X, SCALE],
        ),
        (
            "x: float64[2, 3, 4], s: float64[4], b: float64[4]",
            "layer_norm(x, s, b, axis=1, epsilon=0.5)",
            lambda x, s, b: normed(x, (1, 2), 0.5) * s + b,
            [X, SCALE, BIAS],
        ),
        (
            "x: float64[2, 3, 4], s: float64[4]",
            "rms_norm(x, s, epsilon=0.1)",
            lambda x, s: normed(x, (2,), 0.1, centre=False) * s,
            [X, SCALE],
        ),
        (
            "x: float64[2, 3, 4], s: float64[3], b: float64[3]",
            "instance_norm(x, s, b, epsilon=0.1)",
            lambda x, s, b: normed(x, (2,), 0.1) * by(s) + by(b),
            [X, *CHANNELS[:2]],
        ),
        (
            "x: float64[2, 3, 4], s: float64[3], b: float64[3], m: float64[3], v: float64[3]",
            "batch_norm(x, s, b, m, v, epsilon=0.1)",
            lambda x, s, b, m, v: (x - by(m)) / np.sqrt(by(v) + 0.1) * by(s) + by(b),
            [X, *CHANNELS],
        ),
    ],
)
def test_against_differences(
    params: str, call: str, formula: Formula, operands: list[Array]
) -> None:
    found = gradients(params, call, *operands)
    wanted = slopes(formula, [each.copy() for each in operands])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)

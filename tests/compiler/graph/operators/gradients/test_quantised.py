"""Gradients of scales, and straight through what rounds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.compiler.graph.calls import gradients

CODES = np.array([[1, -2, 3], [4, 5, 6]], np.int8)


@pytest.mark.parametrize(
    ("scale", "zero", "axis", "wanted"),
    [
        # The sum of the weights 1..6 times codes less zero points.
        ("float64[]", "int8[](1)", 1, 0 - 6 + 6 + 12 + 20 + 30),
        ("float64[1]", "int8[1](0)", 0, [1 - 4 + 9 + 16 + 25 + 36]),
        ("float64[3]", "int8[3](0, 1, 2)", 1, [1 + 16, -6 + 20, 3 + 24]),
        ("float64[3]", "int8[](1)", -1, [0 + 12, -6 + 20, 6 + 30]),
        ("float64[2]", "int8[2](1, 4)", 0, [0 - 6 + 6, 0 + 5 + 12]),
    ],
)
def test_scales(scale: str, zero: str, axis: int, wanted: object) -> None:
    shape = tuple(int(each) for each in scale[8:-1].split(",") if each)
    call = f"dequantise(x, s, {zero}, axis={axis})".replace(", axis=1)", ")")
    (found,) = gradients(f"x: int8[2, 3], s: {scale}", call, CODES, np.ones(shape))
    assert found.tolist() == wanted
    assert found.shape == shape


def test_what_is_rounded() -> None:
    x, scale = np.array([-1.3, -1.2, 0.1, 0.7, 0.8]), np.array(0.5)
    call = "fake_quantise(x, s, low=-2, high=1)"
    found = gradients("x: float64[5], s: float64[]", call, x, scale)
    # Divided by the scale and rounded: -3, -2, 0, 1 and 2.
    assert found[0].tolist() == [0, 2, 3, 4, 0]
    assert found[1].tolist() == 0


def test_what_is_encoded() -> None:
    call = "fake_encode(x, s, table=[0, 1, -2, -1])"
    found = gradients("x: float64[3], s: float64[]", call, np.array([-9, 0.1, 9]), np.array(0.5))
    assert found[0].tolist() == [1, 2, 3]
    assert found[1].tolist() == 0

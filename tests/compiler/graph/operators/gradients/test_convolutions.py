"""Gradients of convolutions, element by element: a convolution is linear in both operands."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.compiler.graph.calls import gradients
from tests.support.compiler.operators.operators import Array


def plain(
    x: Array, w: Array, strides: list[int], pads: list[int], far: list[int], groups: int
) -> tuple[Array, Array]:
    """The gradients of image and weights for weights 1, 2, 3, ... of the result."""
    top, left, bottom, right = pads
    rows = (x.shape[2] + top + bottom - far[0] * (w.shape[2] - 1) - 1) // strides[0] + 1
    columns = (x.shape[3] + left + right - far[1] * (w.shape[3] - 1) - 1) // strides[1] + 1
    of_x, of_w, weight = np.zeros_like(x), np.zeros_like(w), 0.0
    for n, o, i, j in np.ndindex(x.shape[0], w.shape[0], rows, columns):
        weight += 1
        first = o // (w.shape[0] // groups) * w.shape[1]
        for c, k, m in np.ndindex(*w.shape[1:]):
            row, column = i * strides[0] + k * far[0] - top, j * strides[1] + m * far[1] - left
            if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                of_x[n, first + c, row, column] += weight * w[o, c, k, m]
                of_w[o, c, k, m] += weight * x[n, first + c, row, column]
    return of_x, of_w


@pytest.mark.parametrize(
    ("image", "weights", "strides", "pads", "far", "groups"),
    [
        ((1, 1, 3, 4), (1, 1, 2, 3), [1, 1], [0, 0, 0, 0], [1, 1], 1),
        ((2, 2, 3, 3), (3, 2, 2, 2), [1, 1], [1, 0, 0, 1], [1, 1], 1),
        # The last row and columns are in no window.
        ((1, 1, 4, 6), (2, 1, 2, 1), [3, 2], [0, 0, 0, 0], [1, 1], 1),
        ((1, 1, 5, 4), (1, 1, 2, 2), [2, 1], [1, 1, 0, 2], [2, 3], 1),
        # More padding than the window reaches.
        ((1, 1, 2, 2), (1, 1, 1, 2), [1, 2], [2, 3, 1, 0], [1, 1], 1),
        ((2, 4, 2, 3), (6, 2, 1, 2), [1, 1], [0, 1, 0, 0], [1, 1], 2),
        ((1, 3, 3, 3), (3, 1, 2, 2), [2, 2], [0, 0, 1, 1], [1, 1], 3),
    ],
)
def test_element_by_element(
    image: tuple[int, ...],
    weights: tuple[int, ...],
    strides: list[int],
    pads: list[int],
    far: list[int],
    groups: int,
) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, image).astype(float)
    w = rng.integers(-3, 4, weights).astype(float)
    given = f"strides={strides}, padding={pads}, dilation={far}, groups={groups}"
    params = f"x: float64{list(image)}, w: float64{list(weights)}, b: float64[{weights[0]}]"
    found = gradients(params, f"conv2d(x, w, b, {given})", x, w, np.zeros(weights[0]))
    of_x, of_w = plain(x, w, strides, pads, far, groups)
    np.testing.assert_array_equal(found[0], of_x)
    np.testing.assert_array_equal(found[1], of_w)
    # The weights of each channel's pixels, of which all channels have as many.
    pixels = found_count(found[2].sum()) // (image[0] * weights[0])
    numbers = np.arange(1.0, image[0] * weights[0] * pixels + 1)
    wanted = numbers.reshape(image[0], weights[0], pixels).sum((0, 2))
    np.testing.assert_array_equal(found[2], wanted)


def found_count(whole: float) -> int:
    """How many numbers 1, 2, 3, ... have this sum."""
    return round((math.sqrt(8 * whole + 1) - 1) / 2)


def test_without_a_bias() -> None:
    x, w = np.ones((1, 1, 2, 2)), np.array([[[[2.0]]]])
    found = gradients("x: float64[1, 1, 2, 2], w: float64[1, 1, 1, 1]", "conv2d(x, w)", x, w)
    assert [each.reshape(-1).tolist() for each in found] == [[2, 4, 6, 8], [10]]

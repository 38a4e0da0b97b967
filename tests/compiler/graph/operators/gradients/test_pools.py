"""Gradients of pooling and of sums of windows, window by window."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.graph.calls import gradients
from tests.support.compiler.operators.operators import Array

ROW = np.array([[[4.0, 1.0, 3.0, 3.0, -2.0]]])


def of(call: str, x: Array = ROW) -> list[float]:
    (found,) = gradients(f"x: float64{list(x.shape)}", call, x)
    assert found.shape == x.shape
    whole: list[float] = found.reshape(-1).tolist()
    return whole


def test_the_first_of_the_greatest_has_it() -> None:
    assert of("max_pool(x, kernel=[2])") == [1, 0, 2 + 3, 4, 0]
    assert of("max_pool(x, kernel=[3], strides=[2])") == [1, 0, 2, 0, 0]
    # Padding is never the greatest, not of negative numbers either.
    assert of("max_pool(x, kernel=[2], strides=[2], padding=[0, 1])") == [1, 0, 2, 0, 3]
    assert of("max_pool(x, kernel=[2], strides=[2], padding=[1, 0])") == [1, 0, 2, 3, 0]
    assert of("max_pool(x, kernel=[2], dilation=[3])") == [1, 2, 0, 0, 0]
    assert of("max_pool(x, kernel=[2], strides=[2], ceil_mode=True)") == [1, 0, 2, 0, 3]


def test_means() -> None:
    assert of("average_pool(x, kernel=[2])") == [0.5, 1.5, 2.5, 3.5, 2]
    # The first window and the last have one element in the image.
    given = "average_pool(x, kernel=[2], padding=[1, 1]"
    assert of(f"{given})") == [1 + 1, 1 + 1.5, 1.5 + 2, 2 + 2.5, 2.5 + 6]
    assert of(f"{given}, count_include_pad=True)") == [1.5, 2.5, 3.5, 4.5, 5.5]
    # What is beyond the padding that is asked for counts never.
    ceil = "average_pool(x, kernel=[3], strides=[3], ceil_mode=True, padding=[0, 0]"
    for given in (f"{ceil})", f"{ceil}, count_include_pad=True)"):
        assert of(given) == [1 / 3, 1 / 3, 1 / 3, 1, 1]
    one = "average_pool(x, kernel=[3], strides=[4], ceil_mode=True, padding=[1, 1], "
    assert of(f"{one}count_include_pad=True)") == [1 / 3, 1 / 3, 0, 2 / 3, 2 / 3]
    assert of("average_pool(x, kernel=[2], dilation=[4])") == [0.5, 0, 0, 0, 0.5]


def test_norms() -> None:
    x = np.array([[[3.0, -4.0, 0.0, 0.0]]])
    # x / y of each window; 0 where y is 0.
    found = of("lp_pool(x, kernel=[2])", x)
    np.testing.assert_allclose(found, [0.6, -0.8 - 2, 0, 0], rtol=1e-12)
    assert of("lp_pool(x, kernel=[2], p=1)", x) == [1, -1 - 2, 0, 0]
    cubes = of("lp_pool(x, kernel=[2], strides=[2], p=3)", x)
    np.testing.assert_allclose(cubes, [9 / 91 ** (2 / 3), -16 / 91 ** (2 / 3), 0, 0], rtol=1e-12)


def test_planes_and_channels() -> None:
    """Against sums of the windows' shares, plane by plane."""
    x = np.random.default_rng(0).permutation(2 * 2 * 3 * 4).reshape(2, 2, 3, 4).astype(float)
    call = "kernel=[2, 3], strides=[1, 2], padding=[0, 1, 1, 0]"
    wanted: dict[str, Array] = {name: np.zeros_like(x) for name in ("max_pool", "average_pool")}
    weight = 0.0
    for n, c, row, column in product(range(2), range(2), range(3), range(2)):
        weight += 1
        places = [
            (n, c, row + i, 2 * column + j - 1)
            for i, j in product(range(2), range(3))
            if row + i < 3 and 0 <= 2 * column + j - 1 < 4
        ]
        wanted["max_pool"][max(places, key=lambda place: x[place])] += weight
        for place in places:
            wanted["average_pool"][place] += weight / len(places)
    for name, total in wanted.items():
        (found,) = gradients("x: float64[2, 2, 3, 4]", f"{name}(x, {call})", x)
        np.testing.assert_allclose(found, total, rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "given", "place"),
    [
        (
            (1, 2, 3),
            {"image": [4], "kernel": [2], "strides": [1], "padding": [0, 0], "dilation": [1]},
            lambda k, w: [w[0] + k[0]],
        ),
        (
            (1, 4, 4),
            {"image": [5], "kernel": [2], "strides": [2], "padding": [1, 2], "dilation": [1]},
            lambda k, w: [2 * w[0] + k[0] - 1],
        ),
        (
            (2, 2, 6),
            {
                "image": [3, 4],
                "kernel": [1, 2],
                "strides": [1, 3],
                "padding": [0, 1, 0, 1],
                "dilation": [1, 2],
            },
            lambda k, w: [w[0], 3 * w[1] + 2 * k[1] - 1],
        ),
    ],
)
def test_sums_of_windows(shape: tuple[int, ...], given: dict[str, list[int]], place: Any) -> None:
    """Each element of a window has the gradient of where it is added."""
    call = ", ".join(f"{name}={value}" for name, value in given.items())
    x = np.zeros(shape)
    (found,) = gradients(f"x: float64{list(shape)}", f"col2im(x, {call})", x)
    kernel, image = given["kernel"], given["image"]
    channels = shape[1] // int(np.prod(kernel))
    weights = np.arange(1.0, shape[0] * channels * np.prod(image) + 1)
    weights = weights.reshape(shape[0], channels, *image)
    counts = [3, 2] if len(image) == 2 else [shape[2]]
    whole = found.reshape(shape[0], channels, *kernel, *counts)
    for n, c in product(range(shape[0]), range(channels)):
        for taps in product(*map(range, kernel)):
            for window in product(*map(range, counts)):
                at = place(taps, window)
                inside = all(0 <= p < extent for p, extent in zip(at, image, strict=True))
                wanted = weights[(n, c, *at)] if inside else 0
                assert whole[(n, c, *taps, *window)] == wanted

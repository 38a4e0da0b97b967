"""Images from windows, against additions window by window."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, FLOAT32
from tandem.compiler.operators.col2im import col2im
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import Array, interpreted


def added(
    data: Array,
    image: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Array:
    """Each element of each window, added where it lies."""
    rank = len(image)
    counts = [
        len(
            range(0, n + padding[a] + padding[rank + a] - dilation[a] * (kernel[a] - 1), strides[a])
        )
        for a, n in enumerate(image)
    ]
    batch, channels = data.shape[0], data.shape[1] // prod(kernel)
    found = np.zeros((batch, channels, *image), data.dtype)
    parts = data.reshape(batch, channels, *kernel, *counts)
    for taps in product(*map(range, kernel)):
        for number in product(*map(range, counts)):
            place = tuple(
                number[a] * strides[a] + taps[a] * dilation[a] - padding[a] for a in range(rank)
            )
            if all(0 <= at < n for at, n in zip(place, image, strict=True)):
                target, source = (slice(None),) * 2 + place, (slice(None),) * 2 + taps + number
                found[target] += parts[source]
    return found


@pytest.mark.parametrize(
    ("image", "kernel", "strides", "padding", "dilation"),
    [
        ((4,), (2,), (1,), (0, 0), (1,)),
        ((5,), (3,), (2,), (1, 0), (1,)),
        ((6,), (2,), (3,), (0, 2), (2,)),
        ((3, 4), (2, 3), (1, 2), (1, 0, 0, 1), (2, 1)),
        ((3, 4), (1, 1), (2, 3), (0, 0, 0, 0), (1, 1)),
    ],
)
def test_sums_of_windows(
    image: Any, kernel: Any, strides: Any, padding: Any, dilation: Any
) -> None:
    rank = len(image)
    windows = prod(
        (image[a] + padding[a] + padding[rank + a] - dilation[a] * (kernel[a] - 1) - 1)
        // strides[a]
        + 1
        for a in range(rank)
    )
    data = (
        np.random.default_rng(0).integers(-9, 9, (2, 2 * prod(kernel), windows)).astype(np.float32)
    )
    made = col2im(placeholder(data.shape, FLOAT32, "x"), image, kernel, strides, padding, dilation)
    wanted = added(data, image, kernel, strides, padding, dilation)
    np.testing.assert_array_equal(interpreted(made, {"x": data}), wanted)


@pytest.mark.parametrize(
    ("shape", "image", "kernel", "strides", "padding", "dilation", "message"),
    [
        ((1, 2), (3,), (2,), (1,), (0, 0), (1,), "N, C . window, windows"),
        ((1, 2, 2), (3, 1), (2,), (1,), (0, 0), (1,), "kernel"),
        ((1, 2, 2), (3,), (0,), (1,), (0, 0), (1,), "kernel"),
        ((1, 2, 2), (0,), (2,), (1,), (0, 0), (1,), "image"),
        ((1, 2, 2), (3,), (2,), (0,), (0, 0), (1,), "strides"),
        ((1, 2, 2), (3,), (2,), (1,), (0, 0), (0,), "dilation"),
        ((1, 2, 2), (3,), (2,), (1,), (0, -1), (1,), "padding"),
        ((1, 2, 3), (3,), (2,), (1,), (0, 0), (1,), r"x .* has not \[2\] windows of \[2\]"),
        ((1, 3, 2), (3,), (2,), (1,), (0, 0), (1,), r"x .* has not \[2\] windows of \[2\]"),
        ((1, 4, 0), (1, 3), (2, 2), (1, 1), (0,) * 4, (1, 1), r"x .* has not \[0, 2\] windows"),
        ((1, 4, 0), (3,), (4,), (1,), (0, 0), (1,), r"x .* has not \[0\] windows of \[4\]"),
    ],
)
def test_refusals(
    shape: Any, image: Any, kernel: Any, strides: Any, padding: Any, dilation: Any, message: str
) -> None:
    data = placeholder(shape, FLOAT32, "x")
    with pytest.raises(TensorError, match=f"^col2im y: .*{message}"):
        col2im(data, image, kernel, strides, padding, dilation, name="y")


def test_types() -> None:
    data = placeholder((1, 2, 2), BOOL, "x")
    with pytest.raises(TensorError, match=r"^col2im col2im: .*bool"):
        col2im(data, (3,), (2,), (1,), (0, 0), (1,))
    made = col2im(placeholder((1, 2, 2), FLOAT32, "x"), (3,), (2,), (1,), (0, 0), (1,))
    assert (made.name, made.shape) == ("col2im", (1, 1, 3))

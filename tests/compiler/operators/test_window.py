"""Windows: how many there are, where they lie, and what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.ir.expr import Var
from tandem.compiler.operators.window import Window, check_windows, padded, windows
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import interpreted

i, k = Var("i"), Var("k")


def along(extent: int, kernel: int, **given: Any) -> Window:
    """The windows along the only spatial axis."""
    (found,) = windows("pool", "y", placeholder((1, 1, extent), INT8, "x"), (kernel,), **given)
    return found


@pytest.mark.parametrize(
    ("extent", "kernel", "given", "wanted"),
    [
        (5, 3, {}, Window(5, 3, 1, 1, 0, 0, 3)),
        (3, 3, {}, Window(3, 3, 1, 1, 0, 0, 1)),
        (5, 1, {}, Window(5, 1, 1, 1, 0, 0, 5)),
        (6, 2, {"strides": (3,)}, Window(6, 2, 3, 1, 0, 0, 2)),
        (5, 2, {"dilation": (3,)}, Window(5, 2, 1, 3, 0, 0, 2)),
        (5, 3, {"padding": (1, 2)}, Window(5, 3, 1, 1, 1, 2, 6)),
        # One more window begins in the image, and exceeds it.
        (5, 2, {"strides": (2,), "ceil_mode": True}, Window(5, 2, 2, 1, 0, 0, 3)),
        (5, 2, {"strides": (2,)}, Window(5, 2, 2, 1, 0, 0, 2)),
        (4, 2, {"strides": (2,), "ceil_mode": True}, Window(4, 2, 2, 1, 0, 0, 2)),
        # One more would begin in the padding behind the image: at 4, and at 3.
        (
            4,
            1,
            {"strides": (4,), "ceil_mode": True, "padding": (0, 2)},
            Window(4, 1, 4, 1, 0, 2, 2),
        ),
        (
            3,
            2,
            {"strides": (3,), "ceil_mode": True, "padding": (0, 1)},
            Window(3, 2, 3, 1, 0, 1, 1),
        ),
        (
            3,
            2,
            {"strides": (2,), "ceil_mode": True, "padding": (1, 0)},
            Window(3, 2, 2, 1, 1, 0, 2),
        ),
        (
            4,
            2,
            {"strides": (2,), "ceil_mode": True, "padding": (1, 0)},
            Window(4, 2, 2, 1, 1, 0, 3),
        ),
    ],
)
def test_counts(extent: int, kernel: int, given: dict[str, Any], wanted: Window) -> None:
    assert along(extent, kernel, **given) == wanted


def test_axes_have_their_own() -> None:
    data = placeholder((1, 2, 7, 9), INT8, "x")
    assert windows("pool", "y", data, (3, 2), (2, 3), (1, 0, 0, 4), (1, 2)) == (
        Window(7, 3, 2, 1, 1, 0, 3),
        Window(9, 2, 3, 2, 0, 4, 4),
    )


def test_places() -> None:
    assert Window(9, 3, 1, 1, 0, 0, 7).place(i, k) == i + k
    assert Window(9, 3, 2, 1, 0, 0, 4).place(i, k) == i * 2 + k
    assert Window(9, 3, 1, 3, 0, 0, 3).place(i, k) == i + k * 3
    assert Window(9, 3, 2, 3, 0, 0, 2).place(i, k) == i * 2 + k * 3


def test_overhang() -> None:
    assert along(5, 3).overhang == 0
    assert along(6, 3, strides=(2,)).overhang == 0
    assert along(6, 3, strides=(2,), ceil_mode=True).overhang == 1
    # Windows at 0, 4 and 8, the last of which takes 8 and 11, of 9 elements.
    assert Window(8, 2, 4, 3, 0, 1, 3).overhang == 3


def test_padding() -> None:
    data = placeholder((1, 1, 3), FLOAT32, "x")
    assert padded(data, [Window(3, 2, 1, 1, 0, 0, 2)], "p") is data
    array = np.array([[[1, 2, 3]]], np.float32)
    for window, wanted in (
        (Window(3, 2, 1, 1, 2, 0, 4), [9, 9, 1, 2, 3]),
        (Window(3, 2, 1, 1, 0, 1, 3), [1, 2, 3, 9]),
        # The second window takes 2, 3 and what is not there.
        (Window(3, 3, 1, 1, 0, 0, 2), [1, 2, 3, 9]),
        (Window(3, 3, 1, 1, 0, 1, 3), [1, 2, 3, 9, 9]),
    ):
        found = padded(data, [window], "p", 9)
        assert found.name == "p"
        np.testing.assert_array_equal(interpreted(found, {"x": array}), [[wanted]])
    np.testing.assert_array_equal(
        interpreted(padded(data, [Window(3, 2, 1, 1, 1, 0, 3)], "p"), {"x": array}),
        [[[0, 1, 2, 3]]],
    )


def covers(window: Window, number: int) -> bool:
    """Whether a window has an element of the image."""
    start = number * window.stride - window.before
    places = (start + at * window.dilation for at in range(window.kernel))
    return any(0 <= place < window.extent for place in places)


def test_windows_of_padding_alone() -> None:
    """Against each window, element by element."""
    refused = 0
    for extent, kernel, stride, dilation, before, after in product(
        (1, 2, 5), (1, 2, 3), (1, 2, 4), (1, 2, 3), (0, 1, 3), (0, 2, 3)
    ):
        slack = before + extent + after - (dilation * (kernel - 1) + 1)
        if slack < 0:
            continue
        window = Window(extent, kernel, stride, dilation, before, after, slack // stride + 1)
        data = placeholder((1, 1, extent), INT8, "x")
        empty = [number for number in range(window.count) if not covers(window, number)]
        if not empty:
            check_windows("pool", "y", data, [window])
            continue
        refused += 1
        message = rf"^pool y: window {empty[0]} on axis 2 of x .* holds only padding$"
        with pytest.raises(TensorError, match=message):
            check_windows("pool", "y", data, [window])
    assert refused > 50


def test_the_axis_of_such_a_window() -> None:
    data = placeholder((1, 1, 3, 3), INT8, "x")
    fine, wrong = Window(3, 1, 1, 1, 0, 0, 3), Window(3, 1, 1, 1, 0, 1, 4)
    with pytest.raises(TensorError, match="window 3 on axis 3 of x"):
        check_windows("pool", "y", data, [fine, wrong])


@pytest.mark.parametrize(
    ("shape", "kernel", "given", "message"),
    [
        ((1, 1), (), {}, "has to have 3, 4 or 5 dimensions, N, C and spatial"),
        ((1,) * 6, (1,) * 4, {}, "has to have 3, 4 or 5 dimensions"),
        ((1, 1, 4), (1, 1), {}, "kernel"),
        ((1, 1, 4), (0,), {}, "kernel"),
        ((1, 1, 4), (1,), {"strides": (0,)}, "strides"),
        ((1, 1, 4), (1,), {"dilation": (0,)}, "dilation"),
        ((1, 1, 4), (1,), {"padding": (0,)}, "padding"),
        ((1, 1, 4), (1,), {"padding": (0, -1)}, "padding"),
        (
            (1, 1, 4),
            (6,),
            {"padding": (0, 1)},
            "axis 2 of x .* with padding 0 and 1 has 5 elements, and the window needs 6",
        ),
        ((1, 1, 9, 4), (1, 3), {"dilation": (1, 2)}, "axis 3 of x .* has 4 elements, .* needs 5"),
    ],
)
def test_refusals(
    shape: tuple[int, ...], kernel: tuple[int, ...], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(TensorError, match=f"^pool y: .*{message}"):
        windows("pool", "y", placeholder(shape, INT8, "x"), kernel, **given)

"""Samples of images, against weights by hand and a plain loop."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import floor

import numpy as np
import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, FLOAT64, INT8
from tandem.compiler.operators.sample import Border, SampleMode, sample
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.operators import Array, interpreted


def run(data: Array, positions: Array, mode: SampleMode, border: Border) -> Array:
    made = sample(
        placeholder(data.shape, FLOAT64, "x"),
        placeholder(positions.shape, FLOAT64, "p"),
        mode,
        border,
    )
    return interpreted(made, {"x": data, "p": positions})


ROW = np.array([[[1.0, 10.0, 100.0, 1000.0]]])
IMAGE = np.arange(12.0).reshape(1, 1, 3, 4) ** 2


def along(mode: SampleMode, border: Border, *places: float) -> list[float]:
    """Samples of the row 1, 10, 100, 1000."""
    positions = np.array(places, np.float64).reshape(1, -1, 1)
    found: list[float] = run(ROW, positions, mode, border)[0, 0].tolist()
    return found


def test_the_nearest() -> None:
    near = SampleMode.NEAREST
    # Of two that are as near, the one with the even index.
    assert along(near, Border.ZEROS, 0.4, 0.5, 0.6, 1.5, 2.5, 3.4) == [1, 1, 10, 100, 100, 1000]
    assert along(near, Border.ZEROS, -0.6, 3.6) == [0, 0]


@pytest.mark.parametrize(
    ("border", "wanted"),
    [
        # At -2, -1, 4, 5 and 9.
        (Border.ZEROS, [0, 0, 0, 0, 0]),
        (Border.BORDER, [1, 1, 1000, 1000, 1000]),
        (Border.REFLECTION, [100, 10, 100, 10, 1000]),
        (Border.REFLECTION_AT_EDGES, [10, 1, 1000, 100, 10]),
    ],
)
def test_what_is_outside(border: Border, wanted: list[float]) -> None:
    assert along(SampleMode.NEAREST, border, -2, -1, 4, 5, 9) == wanted
    assert along(SampleMode.NEAREST, border, 0, 1, 2, 3) == [1, 10, 100, 1000]


def test_an_image_of_one_element() -> None:
    one = np.array([[[7.0]]])
    places = np.array([[[-3.0], [0.0], [2.0]]])
    for border in Border:
        found = run(one, places, SampleMode.NEAREST, border)[0, 0].tolist()
        assert found == ([0, 7, 0] if border is Border.ZEROS else [7, 7, 7])


def test_between_two() -> None:
    linear = SampleMode.LINEAR
    assert along(linear, Border.ZEROS, 0, 0.25, 2.5) == [1, 0.75 + 2.5, 550]
    assert along(linear, Border.ZEROS, -0.25, 3.25) == [0.75, 750]
    assert along(linear, Border.BORDER, -0.25, 3.25) == [1, 1000]


def cubic(distance: float) -> float:
    """The kernel of Keys (1981), of its own definition, with -0.75."""
    far, a = abs(distance), -0.75
    if far <= 1:
        return (a + 2) * far**3 - (a + 3) * far**2 + 1
    return a * far**3 - 5 * a * far**2 + 8 * a * far - 4 * a if far < 2 else 0.0


def weight(mode: SampleMode, distance: float) -> float:
    return cubic(distance) if mode is SampleMode.CUBIC else max(0.0, 1 - abs(distance))


def plain(image: Array, place: Sequence[float], mode: SampleMode) -> float:
    """A sample where all outside is what is at the border."""
    total = 0.0
    for shift in product(range(-2, 4), repeat=len(place)):
        at = [floor(p) + s for p, s in zip(place, shift, strict=True)]
        factor = np.prod([weight(mode, p - a) for p, a in zip(place, at, strict=True)])
        inside = tuple(min(max(a, 0), n - 1) for a, n in zip(at, image.shape, strict=True))
        total += float(factor) * float(image[inside])
    return total


@pytest.mark.parametrize("mode", [SampleMode.LINEAR, SampleMode.CUBIC])
def test_against_sums_of_weights(mode: SampleMode) -> None:
    places = np.array([[0.0, 0.0], [1.25, 2.5], [-0.5, 3.75], [2.0, 1.0], [1.999, 0.5]])
    found = run(IMAGE, places[None], mode, Border.BORDER)[0, 0]
    np.testing.assert_allclose(
        found, [plain(IMAGE[0, 0], each, mode) for each in places], rtol=1e-12
    )


def test_shapes() -> None:
    data, places = placeholder((2, 3, 4, 5), FLOAT32, "x"), placeholder((2, 6, 7, 2), FLOAT32, "p")
    made = sample(data, places)
    assert (made.name, made.shape) == ("sample", (2, 3, 6, 7))
    # Images and channels have their own.
    batch = np.stack([ROW[0], ROW[0] * 2])
    batch = np.concatenate([batch, batch + 1], axis=1)
    positions = np.array([[[1.0]], [[2.0]]])
    found = run(batch, positions, SampleMode.LINEAR, Border.ZEROS)
    assert found.tolist() == [[[10], [11]], [[200], [201]]]


@pytest.mark.parametrize(
    ("data", "positions", "dtypes"),
    [
        ((1, 1), (1, 2, 0), (FLOAT32, FLOAT32)),
        ((1, 1, 2, 2, 2, 2), (1, 2, 4), (FLOAT32, FLOAT32)),
        ((1, 1, 4), (2, 3, 1), (FLOAT32, FLOAT32)),
        ((1, 1, 4), (1, 3, 2), (FLOAT32, FLOAT32)),
        ((1, 1, 4), (1, 3, 1), (FLOAT32, FLOAT64)),
        ((1, 1, 0), (1, 3, 1), (FLOAT32, FLOAT32)),
    ],
)
def test_refusals(
    data: tuple[int, ...], positions: tuple[int, ...], dtypes: tuple[object, object]
) -> None:
    one, other = dtypes
    with pytest.raises(TensorError, match=r"^sample y: p .* for x "):
        sample(placeholder(data, one, "x"), placeholder(positions, other, "p"), name="y")  # type: ignore[arg-type]
    whole = placeholder((1, 1, 4), INT8, "x")
    with pytest.raises(TensorError, match=r"^sample y: .*int8"):
        sample(whole, placeholder((1, 2, 1), INT8, "p"), name="y")

"""Optimisers: steps by hand, and numbers that are refused."""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np
import pytest

from tandem.compiler.errors import GradientError
from tandem.compiler.graph.gradients.optimisers import Adam, Optimiser, Sgd
from tests.support.compiler.graph.calls import Computed, array_of
from tests.support.compiler.operators.operators import Array

WEIGHT, GRADIENT = np.array([1.0, -2.0]), np.array([0.5, 0.25])


def step(
    optimiser: Optimiser, kept: dict[str, list[float]], number: int = 1
) -> tuple[Array, dict[str, Array]]:
    """The weight and what is kept after a step with a rate of 0.1."""
    writer = Computed()
    given = {name: writer.constant(np.array(row, float)) for name, row in kept.items()}
    numbers = (writer.constant(np.array(each)) for each in (0.1, float(number)))
    found, after = optimiser.update(
        writer.constant(WEIGHT), writer.constant(GRADIENT), given, *numbers
    )
    assert tuple(after) == optimiser.kept
    return array_of(found), {name: array_of(each) for name, each in after.items()}


def test_descent() -> None:
    assert (Sgd(), Sgd().kept) == (Sgd(0.0, 0.0), ())
    found, _ = step(Sgd(), {})
    np.testing.assert_allclose(found, [0.95, -2.025], rtol=1e-15)
    # The gradients are 0.5 + 0.2 * 1 and 0.25 - 0.2 * 2.
    found, _ = step(Sgd(decay=0.2), {})
    np.testing.assert_allclose(found, [0.93, -1.985], rtol=1e-15)


def test_momentum() -> None:
    assert Sgd(0.5).kept == ("velocity",)
    found, kept = step(Sgd(0.5, 0.2), {"velocity": [2.0, -1.0]})
    np.testing.assert_allclose(kept["velocity"], [1.7, -0.65], rtol=1e-15)
    np.testing.assert_allclose(found, [0.83, -1.935], rtol=1e-15)


def test_adam() -> None:
    assert Adam() == Adam(0.9, 0.999, 1e-8, 0.0)
    assert Adam().kept == ("mean", "square")
    plain = Adam(0.5, 0.75, 0.125)
    # After the first step from zeros the means are the gradient and its square.
    found, kept = step(plain, {"mean": [0, 0], "square": [0, 0]})
    np.testing.assert_allclose(kept["mean"], [0.25, 0.125])
    np.testing.assert_allclose(kept["square"], [0.0625, 0.015625])
    np.testing.assert_allclose(found, [1 - 0.05 / 0.625, -2 - 0.025 / 0.375], rtol=1e-14)
    # After the second they are divided by 1 - 0.25 and 1 - 0.5625.
    found, kept = step(plain, {"mean": [0.25, 0.125], "square": [0.0625, 0.015625]}, 2)
    np.testing.assert_allclose(kept["mean"], [0.375, 0.1875])
    np.testing.assert_allclose(kept["square"], [0.109375, 0.02734375])
    first = 0.1 * 0.5 / (sqrt(0.25) + 0.125)
    np.testing.assert_allclose(found[0], 1 - first, rtol=1e-14)


def test_decay_is_beside_the_gradient() -> None:
    kept: dict[str, list[float]] = {"mean": [0, 0], "square": [0, 0]}
    without, _ = step(Adam(), kept)
    with_decay, after = step(Adam(decay=0.5), kept)
    # A tenth of a half of each weight is lost.
    np.testing.assert_allclose(without - with_decay, WEIGHT * 0.05, rtol=1e-12)
    np.testing.assert_allclose(after["mean"], GRADIENT * 0.1, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sgd(1.0), "momentum is 1.0: 0 to under 1 is allowed"),
        (lambda: Sgd(-0.1), "momentum is -0.1: 0 to under 1 is allowed"),
        (lambda: Sgd(0.0, -1.0), "decay is -1.0: 0 or more is allowed"),
        (lambda: Sgd(0.0, inf), "decay is inf: 0 or more is allowed"),
        (lambda: Sgd(nan), "momentum is nan: 0 to under 1 is allowed"),
        (lambda: Adam(1.0), "mean_decay is 1.0: 0 to under 1 is allowed"),
        (lambda: Adam(0.9, 1.0), "square_decay is 1.0: 0 to under 1 is allowed"),
        (lambda: Adam(0.9, -0.5), "square_decay is -0.5: 0 to under 1 is allowed"),
        (lambda: Adam(epsilon=0.0), "epsilon is 0.0: over 0 is allowed"),
        (lambda: Adam(epsilon=inf), "epsilon is inf: over 0 is allowed"),
        (lambda: Adam(decay=-0.1), "decay is -0.1: 0 or more is allowed"),
        (lambda: Adam(decay=inf), "decay is inf: 0 or more is allowed"),
    ],
)
def test_refusals(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(GradientError, match=f"^{message}$"):
        make()


def test_bounds() -> None:
    Sgd(0.0, 0.0)
    Adam(0.0, 0.0, 1e-300, 0.0)

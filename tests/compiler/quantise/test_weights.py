"""Weights as integers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions
from tandem.compiler.quantise.weights import Weights, quantised_weights


def some(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Normal noise, of another size for each channel."""
    generator = np.random.default_rng(0)
    sizes = np.linspace(0.1, 2, shape[0]).reshape(-1, *(1,) * (len(shape) - 1))
    return (generator.standard_normal(shape) * sizes).astype(np.float32)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("shape", [(1, 9), (6, 40), (5, 3, 3, 3)])
def test_nearest(mode: Mode, per_channel: bool, shape: tuple[int, ...]) -> None:
    weight = some(shape)
    options = QuantiseOptions(mode, Method.MAX, 99, per_channel)
    found = quantised_weights(weight, np.zeros(shape[0]), 0.1, options)
    assert found.values.dtype == np.int8
    assert found.values.shape == shape
    assert found.scales.shape == ((shape[0],) if per_channel else (1,))
    assert np.abs(found.values.astype(int)).max() <= 127
    step = found.scales.reshape(-1, *(1,) * (len(shape) - 1))
    assert (np.abs(found.real - weight) <= step / 2 * 1.0001).all()
    # No scale could be smaller by more than a power of two.
    largest = np.abs(weight).reshape(shape[0], -1).max(1)
    tight = largest / 127 if per_channel else largest.max(keepdims=True) / 127
    if mode is Mode.POW2:
        assert (np.frexp(found.scales)[0] == 0.5).all()
        assert ((found.scales >= tight) & (found.scales < 2 * tight)).all()
    else:
        np.testing.assert_allclose(found.scales, tight)


def test_the_reach_is_the_largest_sum_of_a_channels_magnitudes() -> None:
    """int8 has no 128, but its magnitudes do."""
    for rows, wanted in (([[-128, 127], [3, -4]], 255), ([[0, 0], [0, 0]], 0), ([[]], 0)):
        for dtype in (np.int8, np.int32):
            assert Weights(np.array(rows, dtype), np.ones(1)).reach == wanted


def test_a_finer_power_of_two_that_clips() -> None:
    """One weight of 2.05 among many small ones: half the scale is better for all the others."""
    weight = np.concatenate([np.linspace(-1, 1, 999), [2.05]]).astype(np.float32)[None]
    coarse, fine = (
        quantised_weights(weight, np.zeros(1), 1.0, QuantiseOptions(Mode.POW2, method))
        for method in (Method.MAX, Method.MSE)
    )
    assert coarse.scales == 1 / 32
    assert fine.scales == 1 / 64
    assert fine.values.max() == 127


def test_channels_without_weights() -> None:
    weight = some((4, 8))
    weight[1] = 0
    weight[2] = 1e-20
    bias = np.array([0, 5.0, 5.0, 0])
    found = quantised_weights(weight, bias, 0.5, QuantiseOptions())
    assert np.abs(bias / (0.5 * found.scales)).max() <= 1 << 24
    nothing = quantised_weights(weight * 0, bias * 0, 0.5, QuantiseOptions())
    assert nothing.scales.tolist() == [1.0] * 4


def test_sums_and_turns() -> None:
    values = np.array([[1, -2, 3], [4, 5, -6]], np.int8)
    weights = Weights(values, np.array([0.5, 2.0]), 0)
    assert weights.sums.tolist() == [2, 3]
    assert weights.reach == 15
    assert weights.real.tolist() == [[0.5, -1, 1.5], [8, 10, -12]]
    assert weights.moved_first(1) is None
    turned = Weights(values, np.array([1.0, 2.0, 4.0]), 1).moved_first(1)
    assert turned is not None
    assert turned.real.tolist() == [[1, 4], [-4, 10], [12, -24]]

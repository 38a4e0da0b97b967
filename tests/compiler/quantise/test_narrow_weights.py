"""Narrow weights: what they give on repeated inputs is what the wider ones give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.quantise.narrow_weights import NarrowWeights


def test_a_weight_is_the_sum_of_its_parts() -> None:
    found = NarrowWeights.of(np.array([[200, 3, -255], [127, -128, 255]], np.int16))
    assert found is not None
    assert found.inputs is not None
    np.testing.assert_array_equal(found.inputs, [0, 1, 2, 0, 2, 2])
    np.testing.assert_array_equal(
        found.values, [[127, 3, -128, 73, -127, 0], [127, -128, 127, 0, 127, 1]]
    )


def test_int8_and_what_fits_it_have_their_inputs() -> None:
    for dtype in (np.int8, np.int16):
        found = NarrowWeights.of(np.array([[-128, 127]], dtype))
        assert found is not None
        assert found.inputs is None
        assert found.values.dtype == np.int8


def test_weights_of_more_parts_stay() -> None:
    assert NarrowWeights.of(np.array([[3 * 127 + 1]])) is None
    assert NarrowWeights.of(np.array([[3 * -128 - 1]])) is None
    assert NarrowWeights.of(np.array([[3 * 127, 3 * -128]])) is not None


@given(seed=st.integers(0, 1 << 32), groups=st.sampled_from([1, 2, 3]), wide=st.integers(1, 255))
def test_products_are_equal(seed: int, groups: int, wide: int) -> None:
    """int64 by hand: each group's products of wider weights and its own inputs."""
    random = np.random.default_rng(seed)
    own, outputs = random.integers(1, 5, 2)
    weights = random.integers(-wide, wide + 1, (groups, outputs, own))
    data = random.integers(-128, 128, groups * own)
    found = NarrowWeights.of(weights.reshape(-1, own), groups)
    assert found is not None
    taken = data if found.inputs is None else data[found.inputs]
    values = found.values.reshape(groups, outputs, -1).astype(np.int64)
    wanted = np.einsum("goi,gi->go", weights, data.reshape(groups, own))
    np.testing.assert_array_equal(
        np.einsum("goi,gi->go", values, taken.reshape(groups, -1)), wanted
    )


@pytest.mark.parametrize("shape", [(4, 0), (0, 3)])
def test_empty(shape: tuple[int, int]) -> None:
    found = NarrowWeights.of(np.zeros(shape, np.int64))
    assert found is not None
    assert found.inputs is None

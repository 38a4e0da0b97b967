"""Packing into blocks of channels, and back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.errors import TensorError
from compiler.operators.accelerator.packing import (
    blocks,
    pack_channels,
    pack_data,
    pack_weight,
    packed_data_shape,
    packed_weight_shape,
    unpack_data,
)
from tests.support.accelerator_operators import CONFIGS, machine

SHAPES = st.tuples(*[st.integers(1, high) for high in (5, 40, 4, 4)])


@given(shape=SHAPES, config=st.sampled_from(CONFIGS))
def test_what_is_packed_comes_back(shape: tuple[int, ...], config: str) -> None:
    data = np.random.default_rng(0).integers(-128, 128, shape, dtype=np.int8)
    packed = pack_data(data, machine(config))
    assert packed.shape == packed_data_shape(shape, machine(config))
    assert packed.flags.c_contiguous
    np.testing.assert_array_equal(unpack_data(packed, shape), data)
    assert np.abs(packed.astype(np.int64)).sum() == np.abs(data.astype(np.int64)).sum()


@given(shape=SHAPES, config=st.sampled_from(CONFIGS))
def test_each_weight_has_its_place(shape: tuple[int, ...], config: str) -> None:
    chosen = machine(config)
    weight = np.random.default_rng(1).integers(-128, 128, shape, dtype=np.int8)
    packed = pack_weight(weight, chosen)
    assert packed.shape == packed_weight_shape(shape, chosen)
    expected = np.zeros_like(packed)
    lanes, inner = chosen.block_out, chosen.block_in
    for o, c, y, x in product(*map(range, shape)):
        expected[o // lanes, c // inner, y, x, o % lanes, c % inner] = weight[o, c, y, x]
    np.testing.assert_array_equal(packed, expected)


@given(channels=st.integers(1, 40), config=st.sampled_from(CONFIGS))
def test_numbers_of_channels_repeat_over_the_batch(channels: int, config: str) -> None:
    chosen = machine(config)
    values = np.arange(1, channels + 1, dtype=np.int32)
    packed = pack_channels(values, chosen)
    assert packed.shape == (blocks(channels, chosen.block_out), chosen.batch, chosen.block_out)
    for row in range(chosen.batch):
        np.testing.assert_array_equal(packed[:, row].reshape(-1)[:channels], values)
    assert not packed.reshape(-1)[-1] or channels % chosen.block_out == 0


def test_refuses_other_ranks_and_sizes() -> None:
    tiny = machine("tiny")
    with pytest.raises(TensorError, match=r"^data has 4 dimensions, not 3: \(1, 2, 3\)$"):
        pack_data(np.zeros((1, 2, 3), np.int8), tiny)
    with pytest.raises(TensorError, match=r"^weight has 4 dimensions, not 2"):
        pack_weight(np.zeros((1, 2), np.int8), tiny)
    with pytest.raises(TensorError, match=r"^a number for each channel has 1 dimensions, not 0"):
        pack_channels(np.zeros((), np.int32), tiny)
    with pytest.raises(TensorError, match=r"^packed data has 6 dimensions, not 4"):
        unpack_data(np.zeros((1, 2, 3, 4), np.int8), (1, 2, 3, 4))
    packed = pack_data(np.zeros((1, 4, 2, 2), np.int8), tiny)
    with pytest.raises(TensorError, match=r"of \(1, 4, 2, 2\) does not hold \(1, 5, 2, 2\)$"):
        unpack_data(packed, (1, 5, 2, 2))

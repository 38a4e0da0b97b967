"""Packing into blocks of channels, and back."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.machines.accelerator.templates.packing import (
    block_groups,
    pack_channels,
    pack_data,
    pack_weight,
    packed_data_shape,
    packed_weight_shape,
    unpack_data,
)
from tandem.compiler.operators.blocks import blocks
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    CONFIGS,
    machine,
)

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


def spread(weight: np.ndarray, groups: int, outputs: int, inputs: int) -> np.ndarray:
    """[outputs, inputs], zero where an output does not see an input; the kernel has one tap."""
    rows, group_inputs = blocks(outputs, groups), weight.shape[1]
    found = np.zeros((outputs, groups * group_inputs), weight.dtype)
    for output, row in enumerate(weight[:, :, 0, 0]):
        first = output // rows * group_inputs
        found[output, first : first + group_inputs] = row
    assert not found[:, inputs:].any()
    return found[:, :inputs]


@given(
    groups=st.integers(1, 40),
    outputs=st.integers(1, 20),
    inputs=st.integers(1, 20),
    config=st.sampled_from(CONFIGS),
)
def test_groups_of_blocks_are_the_same_convolution(
    groups: int, outputs: int, inputs: int, config: str
) -> None:
    chosen = machine(config)
    shape = groups * outputs, inputs, 1, 1
    weight = np.random.default_rng(2).integers(1, 128, shape, dtype=np.int8)
    merged, found = block_groups(weight, groups, chosen)
    wanted = spread(weight, groups, groups * outputs, groups * inputs)
    if found > 1:
        # Groups are of whole blocks, so that outputs can be counted off.
        into, out = blocks(groups * inputs, chosen.block_in), blocks(len(weight), chosen.block_out)
        assert into == found * blocks(merged.shape[1], chosen.block_in)
        assert merged.shape[1] % chosen.block_in == out % found == 0
        lanes = out // found * chosen.block_out
        dense = np.zeros((found * lanes, found * merged.shape[1]), np.int8)
        for output, row in enumerate(merged[:, :, 0, 0]):
            first = output // lanes * merged.shape[1]
            dense[output, first : first + merged.shape[1]] = row
        assert not dense[:, groups * inputs :].any()
        found_weight = dense[: len(weight), : groups * inputs]
    else:
        found_weight = merged[:, :, 0, 0]
    np.testing.assert_array_equal(found_weight, wanted)


def test_sixteen_channels_of_a_depthwise_convolution_are_a_block() -> None:
    weight = np.ones((40, 1, 3, 3), np.int8)
    merged, groups = block_groups(weight, 40, machine("pynq"))
    assert (merged.shape, groups) == ((40, 16, 3, 3), 3)
    assert merged.sum() == weight.sum()


def test_groups_that_do_not_meet_blocks_become_one() -> None:
    merged, groups = block_groups(np.ones((24, 5, 1, 1), np.int8), 3, machine("pynq"))
    assert (merged.shape, groups) == ((24, 15, 1, 1), 1)


def test_groups_of_whole_blocks_stay_as_they_are() -> None:
    """The second layer of AlexNet."""
    weight = np.ones((256, 48, 5, 5), np.int8)
    merged, groups = block_groups(weight, 2, machine("pynq"))
    assert groups == 2
    np.testing.assert_array_equal(merged, weight)

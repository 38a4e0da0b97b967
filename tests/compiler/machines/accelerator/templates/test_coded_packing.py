"""Codes in blocks widen to the blocks of the widened weight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks
from tandem.compiler.machines.accelerator.templates.coded_packing import coded_weight
from tandem.compiler.machines.accelerator.templates.packing import block_groups, pack_weight
from tandem.compiler.plan.codes import Codes
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.weight_blocks import unpacked_blocks
from tandem.hw.weight_formats import BINARY, FORMATS, INT4, NF4, TERNARY, WeightFormat
from tests.support.compiler.plan.coded_graphs import random_codes


def blocks_of(codes: Codes, config: HardwareConfig, groups: int) -> CodedBlocks | None:
    """The blocks; None if they are refused."""
    try:
        return coded_weight(codes, config, groups)
    except Refusal:
        return None


@given(
    seed=st.integers(0, 2**31 - 1),
    weights=st.sampled_from([each for each in FORMATS if each is not BINARY]),
    machine=st.sampled_from(["tiny-w", "small8-w", "pynq-w"]),
    groups=st.sampled_from([1, 1, 2, 8]),
)
def test_blocks_widen_to_the_packed_weight(
    seed: int, weights: WeightFormat, machine: str, groups: int
) -> None:
    config, rng = load_config(machine), np.random.default_rng(seed)
    outputs, inputs = (groups * int(rng.integers(1, 40 // groups)), int(rng.integers(1, 40)))
    kernel = tuple(rng.integers(1, 3, 2).tolist())
    group = config.block_in * int(rng.integers(1, 4)) if groups == 1 else inputs
    codes = random_codes(rng, weights, (outputs, inputs, *kernel), group)
    wanted = pack_weight(block_groups(codes.widened.array, groups, config)[0], config)
    found = blocks_of(codes, config, groups)
    if found is None:
        # Groups of a convolution that share a row of a block.
        assert groups > 1
        return
    assert found.data.shape[:-1] == wanted.shape[:-2]
    inside, scales = unpacked_blocks(config, found.coding, found.data)
    spread = np.ones_like(inside) if scales is None else scales[..., None]
    np.testing.assert_array_equal(weights.widened(inside, spread), wanted)


def test_dense_weights_have_two_axes() -> None:
    config, rng = load_config("pynq-w"), np.random.default_rng(1)
    codes = random_codes(rng, NF4, (20, 40), 16)
    found = coded_weight(codes, config)
    inside, scales = unpacked_blocks(config, found.coding, found.data)
    assert scales is not None
    wanted = pack_weight(codes.widened.array[:, :, None, None], config)
    np.testing.assert_array_equal(NF4.widened(inside, scales[..., None]), wanted)


@pytest.mark.parametrize(
    ("machine", "weights", "shape", "group", "words"),
    [
        ("pynq-x", INT4, (16, 16), 16, "pynq-x has no compressed_weights"),
        ("pynq-w", INT4, (16, 16), 8, "a scale is for a whole row of a block, 16 weights"),
        ("pynq-w", INT4, (16, 32), 24, "groups that are no multiple of it end within one"),
        (
            "pynq-w",
            INT4,
            (16, 65536),
            16,
            "take 69,632 beats, of which LOAD's stride reaches 65,535",
        ),
        ("pynq-w", BINARY, (16, 24), 0, "16 x 16 weights are filled up with zeros, and no code"),
        (
            "pynq-w",
            WeightFormat("own", 2, TERNARY.table, scaled=True),
            (16, 16),
            16,
            "only codes of 4 bits can have scales",
        ),
    ],
)
def test_what_a_machine_does_not_widen(
    machine: str, weights: WeightFormat, shape: tuple[int, int], group: int, words: str
) -> None:
    codes = random_codes(np.random.default_rng(2), weights, shape, group)
    with pytest.raises(Refusal, match=words):
        coded_weight(codes, load_config(machine))


def test_binary_weights_of_whole_blocks() -> None:
    codes = random_codes(np.random.default_rng(3), BINARY, (16, 32), 0)
    assert coded_weight(codes, load_config("pynq-w")).data.shape == (1, 2, 1, 1, 32)

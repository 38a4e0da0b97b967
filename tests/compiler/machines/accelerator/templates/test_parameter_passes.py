"""Requantisations as one pass: what fits, and its words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.templates.packing import unpack_data
from tandem.compiler.machines.accelerator.templates.parameter_passes import (
    RequantisePass,
    parameter_pass,
)
from tandem.compiler.machines.accelerator.templates.requantise_passes import epilogue_passes
from tandem.compiler.requantisation import RequantSpec, Residual, ShortFactors
from tandem.hw.features import Feature
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    EXTENDED,
    machine,
)
from tests.support.compiler.machines.accelerator.templates.alu_passes import Passes, draw_values
from tests.support.compiler.machines.accelerator.templates.random_workloads import pack_sums

CONFIG = machine("extended")
SPEC = RequantSpec((3, 5), (-7, 9), (4, 9), -100, 99)
RESIDUAL = Residual(17)


def test_the_words_of_channels() -> None:
    """Of four lanes, two have a channel."""
    found = parameter_pass(SPEC, 2, CONFIG)
    assert found is not None
    made, numbers = found
    assert made == RequantisePass()
    assert numbers.immediates == {"low": -100, "high": 99}
    words = numbers.tensors["parameters"]
    assert (words.dtype.name, words.shape) == ("int64", (1, 4))
    assert words.view("<u2").reshape(4, 4).tolist() == [
        [0xFFF9, 0xFFFF, 3, 4],
        [9, 0, 5, 9],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]


def test_each_channel_is_reduced_by_itself() -> None:
    """To fit, and because it costs nothing."""
    spec = RequantSpec((1 << 20, 3 << 18), (1 << 19, 5 << 10), 23, -128, 127)
    found = parameter_pass(spec, 2, CONFIG)
    assert found is not None
    words = found[1].tensors["parameters"].reshape(-1)[:2].astype(np.int64)
    assert (words >> 32 & 0xFFFF).tolist() == [1, 3]
    assert (words >> 48).tolist() == [3, 5]


def test_a_residual_has_one_scale() -> None:
    spec = replace(SPEC, multiplier=(64, 32), shift=(9, 9), residuals=(Residual(96),))
    found = parameter_pass(spec, 2, CONFIG)
    assert found is not None
    made, numbers = found
    assert made == RequantisePass("skip")
    assert numbers.immediates == {"low": -100, "high": 99, "scale": 3}
    assert (numbers.tensors["parameters"].astype(np.int64) >> 48).tolist() == [[4, 4, 0, 0]]


def test_an_addend_far_beyond_the_limits() -> None:
    """It needs 40 bits, but all accumulators up to 1000 have one result: 99, and -100."""
    far = replace(SPEC, addend=(1 << 40, -(1 << 40)), shift=(9, 9), bound=1000)
    found = parameter_pass(far, 2, CONFIG)
    assert found is not None
    words = found[1].tensors["parameters"].reshape(-1)[:2].astype(np.int64)
    assert (words >> 32 & 0xFFFF).tolist() == [0, 0]
    low_words = words.view(np.int64) << 32 >> 32
    # Both are multiples of 2^s: the shifts are 0.
    assert low_words.tolist() == [99, -100]
    assert (words >> 48).tolist() == [0, 0]
    assert parameter_pass(replace(far, bound=None), 2, CONFIG) is not None
    assert parameter_pass(replace(far, addend=1 << 32, bound=None), 2, CONFIG) is None


def test_a_channel_of_few_digits_leaves_the_others_short() -> None:
    """Their multipliers of 23 bits are rounded to 16, and the zeros behind are shifted away."""
    spec = RequantSpec.from_scales([0.9, 3e-7], [7, 10**7], bound=1 << 27, short=ShortFactors(16))
    assert spec.largest_multiplier == 58982 << 7
    found = parameter_pass(spec, 2, CONFIG)
    assert found is not None
    words = found[1].tensors["parameters"].reshape(-1)[:2].astype(np.int64)
    assert (words >> 32 & 0xFFFF).tolist() == [29491, 3]
    assert (words >> 48).tolist() == [15, 23]


FITS_NOT = {
    "a multiplier of 17 bits": replace(SPEC, multiplier=(1 << 16) + 1),
    "an addend of 33 bits": replace(SPEC, addend=1 << 31),
    "an addend below": replace(SPEC, addend=-(1 << 31) - 1),
    "a limit beyond a byte": replace(SPEC, high=128),
    "a limit below": replace(SPEC, low=-129),
    "two residuals": replace(SPEC, residuals=(RESIDUAL, RESIDUAL)),
    "a scale of 25 bits": replace(SPEC, residuals=(Residual((1 << 24) + 1),)),
    "a residual of more than a byte": replace(SPEC, residuals=(Residual(1, -129, 5),)),
}


@pytest.mark.parametrize("spec", FITS_NOT.values(), ids=FITS_NOT)
def test_what_does_not_fit(spec: RequantSpec) -> None:
    assert parameter_pass(spec, 2, CONFIG) is None


@pytest.mark.parametrize(
    ("features", "plain", "residual"),
    [
        (set(), False, False),
        ({Feature.INPUT_OPERANDS}, False, False),
        ({Feature.REQUANTISE}, True, False),
        ({Feature.REQUANTISE, Feature.INPUT_OPERANDS}, True, True),
    ],
)
def test_which_machines_have_it(features: set[Feature], plain: bool, residual: bool) -> None:
    config = CONFIG.replace(features=frozenset(features))
    assert (parameter_pass(SPEC, 2, config) is not None) == plain
    assert (parameter_pass(replace(SPEC, residuals=(RESIDUAL,)), 2, config) is not None) == residual


def test_parameters_that_do_not_fit_are_loaded_with_each_tile() -> None:
    small = CONFIG.replace(log_par_buffer=6)
    for channels, resident in ((8, True), (9, False)):
        found = parameter_pass(RequantSpec(3, 5, 4, -128, 127), channels, small)
        assert found is not None
        assert found[0].resident is resident


def test_else_it_is_passes_of_the_alu() -> None:
    spec = RequantSpec.pow2(3, bound=1 << 20)
    base = CONFIG.replace(features=frozenset())
    assert [each.name for each in epilogue_passes(spec, 4, base)[0]] == ["add", "shr", "max", "min"]
    assert [each.name for each in epilogue_passes(spec, 4, CONFIG)[0]] == ["requantise"]


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), config=st.sampled_from(EXTENDED))
def test_passes_do_what_the_specification_says(seed: int, config: str) -> None:
    rng, chosen = np.random.default_rng(seed), machine(config)
    channels = int(rng.integers(1, 10))
    multiplier, addend, shift = (
        tuple(rng.integers(*limits, channels).tolist())
        for limits in ((0, 1 << 16), (-(1 << 31), 1 << 31), (0, 32))
    )
    is_far = rng.random() < 0.5
    if is_far:
        # One channel so far beyond the limits that no accumulator has another result.
        addend = (int(rng.choice([-1, 1])) << 60, *addend[1:])
        shift = (shift[0] % 23, *shift[1:])
    low, high = sorted(rng.integers(-128, 128, 2).tolist())
    residuals: tuple[Residual, ...] = ()
    if Feature.INPUT_OPERANDS in chosen.features and rng.random() < 0.5:
        residuals = (Residual(int(rng.integers(1 << (22 if is_far else 24)))),)
    spec = RequantSpec(multiplier, addend, shift, low, high, None, residuals)
    sums = rng.integers(-(1 << 31), 1 << 31, (chosen.batch, channels, 2, 3))
    skip = draw_values(rng, sums.shape, INT8).astype(np.int64)
    found = parameter_pass(spec, channels, chosen)
    assert found is not None
    made, given_numbers = found
    skips = {"skip": pack_sums(skip, chosen).astype(np.int8)}
    after = Passes((made,), {**given_numbers.tensors, **skips}, given_numbers.immediates)
    applied = after.applied(pack_sums(sums, chosen))
    expected = spec.reference(sums, 1, [skip] if residuals else [])
    np.testing.assert_array_equal(unpack_data(applied, sums.shape), expected)

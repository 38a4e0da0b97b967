"""Weights rounded to codes: what comes of them, and how far off it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed.calibrated import Gram
from tandem.compiler.quantise.compressed.coded import CodedWeights
from tandem.compiler.quantise.compressed.rounding import coded_weights
from tandem.compiler.quantise.options import Mode
from tandem.hw.weight_formats import BINARY, FORMATS, INT4, MXFP4, NF4, TERNARY, WeightFormat

FORMS = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


def noise(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def correlated(rows: int, columns: int, seed: int = 1) -> NDArray[np.float32]:
    """Data of which a few directions have most of the energy, as those of networks do."""
    generator = np.random.default_rng(seed)
    few = generator.standard_normal((rows, max(1, columns // 8)))
    mixed = few @ generator.standard_normal((few.shape[1], columns))
    found = mixed + 0.2 * generator.standard_normal((rows, columns))
    return found.astype(np.float32)


def decibels(weights: NDArray[np.float32], coded: CodedWeights) -> float:
    off = ((coded.real - weights) ** 2).sum()
    return float(10 * np.log10((weights.astype(np.float64) ** 2).sum() / off))


def widened_by_hand(coded: CodedWeights) -> NDArray[np.int64]:
    """The values, weight by weight, without the code under test."""
    found = np.zeros(coded.codes.shape, np.int64)
    for at in np.ndindex(*coded.codes.shape):
        scale = coded.scales[(at[0], at[1] // coded.group, *at[2:])] if coded.form.scaled else 1
        found[at] = coded.form.table[coded.codes[at]] * int(scale)
    return found


@FORMS
@pytest.mark.parametrize("shape", [(3, 40), (2, 21, 2, 3), (1, 1)])
def test_what_codes_mean(form: WeightFormat, shape: tuple[int, ...]) -> None:
    coded = coded_weights(noise(shape), form, 16)
    by_hand = widened_by_hand(coded)
    assert coded.codes.shape == shape
    assert coded.scales.shape == (shape[0], -(-shape[1] // 16), *shape[2:])
    assert coded.scales.min() >= 1
    assert coded.scales.max() <= form.largest_scale
    # Nothing wraps around.
    assert np.array_equal(coded.values, by_hand)
    shown = coded.channel_scales.reshape(-1, *(1,) * (len(shape) - 1))
    assert np.array_equal(coded.real, by_hand * shown)


@pytest.mark.parametrize(
    ("form", "least"), [(INT4, 20.4), (MXFP4, 19.8), (NF4, 20.4), (TERNARY, 7.0), (BINARY, 4.3)]
)
def test_the_error_of_normal_weights(form: WeightFormat, least: float) -> None:
    """What a float scale for each group and a float's rounding give for these bits, less 0.5 dB:
    for one bit 10 log10(1 / (1 - 2 / pi)) = 4.4 dB in theory."""
    assert decibels(noise((64, 256)), coded_weights(noise((64, 256)), form, 32)) > least


def test_smaller_groups_are_better() -> None:
    weights = noise((32, 256)) * np.exp(noise((32, 256), 3))
    found = [decibels(weights, coded_weights(weights, INT4, group)) for group in (128, 64, 32, 16)]
    assert found == sorted(found)


@FORMS
def test_what_a_format_holds_is_exact(form: WeightFormat) -> None:
    """Weights that are entries times a group's integer times a channel's scale."""
    generator = np.random.default_rng(4)
    codes = generator.integers(0, 1 << form.bits, (4, 64)).astype(np.uint8)
    # Each group has the largest entry, and one group the largest scale.
    largest = int(np.argmax(np.abs(form.table)))
    codes[:, ::16] = largest
    scales = np.repeat(generator.integers(1, form.largest_scale + 1, (4, 4)), 16, axis=1)
    scales[:, :16] = form.largest_scale
    channels = np.array([1.0, 0.25, 3.0, 1e-3])[:, None]
    values = np.array(form.table)[codes] * (scales if form.scaled else 1)
    coded = coded_weights((values * channels).astype(np.float32), form, 16)
    np.testing.assert_allclose(coded.real, values * channels, rtol=2e-2, atol=1e-9)
    off = np.abs(coded.real - values * channels).max() / np.abs(values * channels).max()
    assert off < 0.02


@settings(max_examples=25)
@given(
    st.sampled_from(FORMATS),
    st.integers(1, 4),
    st.integers(1, 40),
    st.sampled_from([16, 32]),
    st.floats(-12, 12),
    st.integers(0, 2**32 - 1),
)
def test_rounding_is_to_the_nearest(
    form: WeightFormat, channels: int, inputs: int, group: int, size: float, seed: int
) -> None:
    """No other code of a weight is nearer, for the scales that were found."""
    weights = noise((channels, inputs), seed) * np.float32(10.0**size)
    coded = coded_weights(weights, form, group)
    spread = np.repeat(coded.scales, group, axis=1)[:, :inputs].astype(np.float64)
    steps = spread * coded.channel_scales[:, None]
    every = steps[..., None] * np.array(form.table)
    least = np.abs(every - weights[..., None]).min(-1)
    assert (np.abs(coded.real - weights) <= least + 1e-5 * steps).all()


@FORMS
def test_the_size_of_weights_does_not_matter(form: WeightFormat) -> None:
    weights = noise((4, 48))
    whole, small = (coded_weights(weights * size, form, 16) for size in (1.0, 2.0**-20))
    assert np.array_equal(whole.codes, small.codes)
    assert np.array_equal(whole.scales, small.scales)
    np.testing.assert_allclose(small.channel_scales * 2.0**20, whole.channel_scales)


@FORMS
@pytest.mark.parametrize("calibrated", [False, True])
def test_channels_of_zeros(form: WeightFormat, calibrated: bool) -> None:
    weights = noise((3, 32))
    weights[1] = 0
    gram = Gram.of(correlated(64, 32)) if calibrated else None
    coded = coded_weights(weights, form, 16, gram=gram)
    assert np.isfinite(coded.channel_scales).all()
    assert (coded.channel_scales > 0).all()
    if 0 in form.table:
        assert not coded.real[1].any()


@FORMS
@pytest.mark.parametrize("shape", [(24, 64), (16, 20, 3, 1)])
def test_calibration_makes_the_results_better(form: WeightFormat, shape: tuple[int, ...]) -> None:
    """Against new data from the same source, beside rounding to the nearest."""
    weights = noise(shape)
    columns = int(np.prod(shape[1:]))
    data = correlated(600, columns)
    gram, held_out = Gram.of(data[:400]), data[400:]
    rows = np.moveaxis(weights, 1, -1).reshape(shape[0], -1)

    def noise_of(coded: CodedWeights) -> float:
        real = np.moveaxis(coded.real, 1, -1).reshape(shape[0], -1)
        return float(((held_out @ (real - rows).T) ** 2).sum())

    nearest = noise_of(coded_weights(weights, form, 16))
    calibrated = noise_of(coded_weights(weights, form, 16, gram=gram))
    assert calibrated < 0.6 * nearest


@FORMS
def test_calibration_on_independent_columns_is_rounding(form: WeightFormat) -> None:
    """With the identity as the products of columns nothing can be made good elsewhere."""
    weights = noise((6, 32))
    gram = Gram(np.eye(32))
    calibrated, nearest = (
        coded_weights(weights, form, 16, gram=gram),
        coded_weights(weights, form, 16),
    )
    ratio = ((calibrated.real - weights) ** 2).sum() / ((nearest.real - weights) ** 2).sum()
    assert 0.9 < ratio < 1.1


def test_scales_that_a_bias_needs() -> None:
    weights = noise((3, 32))
    least = np.array([0.0, 5.0, 0.01])
    for gram in (None, Gram.of(correlated(64, 32))):
        found = coded_weights(weights, INT4, 16, gram=gram, least=least).channel_scales
        assert (found >= least).all()
        assert found[1] == 5.0


@FORMS
def test_scales_that_are_powers_of_two(form: WeightFormat) -> None:
    for gram in (None, Gram.of(correlated(64, 48))):
        coded = coded_weights(noise((5, 48)), form, 16, gram=gram, mode=Mode.POW2)
        assert (np.frexp(coded.channel_scales)[0] == 0.5).all()
        if gram is None:
            free = coded_weights(noise((5, 48)), form, 16)
            assert decibels(noise((5, 48)), coded) > decibels(noise((5, 48)), free) - 3


def test_calibration_takes_data() -> None:
    with pytest.raises(QuantisationError, match="takes at least one row of data"):
        Gram.of(np.zeros((0, 4), np.float32))


def test_bits() -> None:
    """Codes of four bits, and a scale of four for each group; a partial one has one too."""
    assert coded_weights(noise((2, 40)), INT4, 32).bits == 2 * 40 * 4 + 2 * 2 * 4
    assert coded_weights(noise((2, 40)), TERNARY, 32).bits == 2 * 40 * 2

"""Weights that a format has stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.quantise.compressed.calibrated import Gram
from tandem.compiler.quantise.compressed.exact import exact_scales
from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.compiler.quantise.compressed.rounding import coded_weights
from tandem.compiler.quantise.options import Mode
from tandem.hw.weight_formats import FORMATS, INT4, TERNARY, WeightFormat

FORMS = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


@FORMS
@pytest.mark.parametrize("mode", list(Mode))
@given(
    seed=st.integers(0, 1 << 30),
    shape=st.sampled_from([(3, 40), (2, 21, 2, 3), (4, 16), (1, 1)]),
    calibrated=st.booleans(),
)
@settings(max_examples=8)
def test_rounding_twice_is_rounding_once(
    form: WeightFormat, mode: Mode, seed: int, shape: tuple[int, ...], calibrated: bool
) -> None:
    random = np.random.default_rng(seed)
    first = coded_weights(random.standard_normal(shape), form, 16, mode=mode)
    once = first.real.astype(np.float32)
    data = random.standard_normal((300, once[0].size)).astype(np.float32)
    gram = Gram.of(data) if calibrated else None
    twice = coded_weights(once, form, 16, mode=mode, gram=gram).real
    np.testing.assert_allclose(twice, once, rtol=3e-7)


def test_ternary_weights_of_any_scale() -> None:
    signs = np.array([[1, 0, -1, -1, 1], [0, 0, -1, 0, 0]], np.float32)
    weights = signs * np.array([[0.1234], [7.7]], np.float32)
    coded = coded_weights(weights, TERNARY, 16)
    np.testing.assert_array_equal(coded.values, [[1, 0, -1, -1, 1], [0, 0, -1, 0, 0]])
    np.testing.assert_allclose(coded.channel_scales, [0.1234, 7.7], rtol=1e-6)


def test_what_a_format_has_not() -> None:
    grouping = Grouping((5, 4), 2)
    rows = np.array(
        [
            # Multiples of a number, but no entries of int4 times a scale of the group.
            [1.0, 11.0, 0.0, 1.0],
            [1.0, 2.0, 3.0, np.pi],
            [0.0, 0.0, 0.0, 0.0],
            # Groups of 3 and of 7.
            [3.0, -24.0, 49.0, 7.0],
            # A scale that is not allowed below.
            [1e-3, 2e-3, 3e-3, 4e-3],
        ],
        np.float32,
    )
    channels, groups = exact_scales(rows, INT4, grouping, lambda scales: scales > 0.1)
    np.testing.assert_array_equal(channels > 0, [False, False, False, True, False])
    np.testing.assert_allclose(channels[3], 1.0)
    np.testing.assert_array_equal(groups[3], [3, 7])

"""Factors of features: the noise that they leave, and the best of those that are tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.quantise.compressed.products import WeightedProduct
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.smooth_factors import SmoothFactors
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule

FEATURES = 64
OUTPUTS = 16


def factors_for(
    sizes: np.ndarray, kind: WeightKind = WeightKind.INT8, outlier: float = 0.0
) -> SmoothFactors:
    """Data of features of given sizes, in whose first row the first feature is `outlier`."""
    generator = np.random.default_rng(3)
    rows = generator.standard_normal((256, FEATURES)) * sizes
    if outlier:
        rows[0, 0] = outlier
    weights = generator.standard_normal((OUTPUTS, FEATURES)).astype(np.float32)
    products = [WeightedProduct("y", "x", weights, 0)]
    options = QuantiseOptions(weights=WeightOptions(kind))
    return SmoothFactors(rows, np.abs(rows).max(0), products, options)


def test_one_large_feature_is_made_small_and_no_other() -> None:
    found = factors_for(np.ones(FEATURES), outlier=200.0)
    best = found.best()
    assert best is not None
    assert best[0] <= 1 / 4
    assert (best[1:] == best[1]).all()
    assert found.noise(best) < 0.5 * found.noise(np.ones(FEATURES))


def test_nothing_where_features_are_alike() -> None:
    assert factors_for(np.ones(FEATURES)).best() is None


def test_nothing_for_zeros() -> None:
    assert factors_for(np.zeros(FEATURES)).best() is None


def test_groups_of_four_bits_count() -> None:
    """What moves into weights costs more where a group of them has one scale."""
    uneven = np.where(np.arange(FEATURES) % 4 == 0, 16.0, 1.0)
    factors = 1 / uneven
    in_int8, in_int4 = (factors_for(uneven, kind) for kind in (WeightKind.INT8, WeightKind.INT4))
    ones = np.ones(FEATURES)
    assert in_int4.noise(ones) > in_int8.noise(ones)
    more = [each.noise(factors) / each.noise(ones) for each in (in_int8, in_int4)]
    assert more[0] != pytest.approx(more[1], rel=0.05)


def test_rules_of_products_are_their_formats() -> None:
    """The format of a rule counts as that of all weights does, and with its own group."""
    uneven = np.where(np.arange(FEATURES) % 4 == 0, 16.0, 1.0)
    factors = 1 / uneven
    alone, of_all = factors_for(uneven), factors_for(uneven, WeightKind.INT4)
    ruled = replace(alone, rules={"y": WeightRule.of("*", "int4")})
    assert ruled.noise(factors) == of_all.noise(factors) != alone.noise(factors)
    small = replace(alone, rules={"y": WeightRule.of("*", "int4/16")})
    assert small.noise(factors) < ruled.noise(factors)
    other = replace(of_all, rules={"y": WeightRule.of("*", "int8")})
    assert other.noise(factors) == alone.noise(factors)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=FEATURES, max_size=FEATURES))
def test_the_best_factors_are_powers_of_two_and_clearly_better(sizes: list[float]) -> None:
    found = factors_for(np.array(sizes))
    best = found.best()
    if best is not None:
        assert (np.frexp(best)[0] == 0.5).all()
        assert found.noise(best) < 0.8 * found.noise(np.ones(FEATURES))

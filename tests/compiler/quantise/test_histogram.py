"""Ranges: what is counted, and the scales that come of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.histogram import BINS, Histogram, power_of_two, scale_of
from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions


def counted(*samples: list[float]) -> Histogram:
    """A histogram of these."""
    found = Histogram()
    for sample in samples:
        found.add(np.array(sample, np.float32))
    return found


@given(st.lists(st.lists(st.floats(-1e6, 1e6, width=32), max_size=9), min_size=1, max_size=5))
def test_the_order_of_samples_does_not_matter_much(samples: list[list[float]]) -> None:
    """Whatever it has grown through, values are counted once, in the bin that they belong to."""
    found = counted(*samples)
    values = np.abs(np.array([each for sample in samples for each in sample], np.float32))
    assert found.counts.sum() == len(values)
    assert found.largest == values.max(initial=0)
    if found.end:
        assert found.end / 2 <= found.largest < found.end
        places = (values.astype(np.float64) * (BINS / found.end)).astype(int)
        np.testing.assert_array_equal(found.counts, np.bincount(places, minlength=BINS))


@pytest.mark.parametrize(
    ("value", "power"), [(1.0, 1.0), (1.0001, 2.0), (0.75, 1.0), (0.25, 0.25), (3e-9, 2.0**-28)]
)
def test_power_of_two(value: float, power: float) -> None:
    assert power_of_two(value) == power


def test_scales_by_hand() -> None:
    # 99 values of 1 and one of 127: by all of them, and by 99 in a hundred.
    found = counted([1.0] * 99, [-127.0])
    assert scale_of(found, QuantiseOptions(method=Method.MAX)) == 1.0
    percentile = QuantiseOptions(method=Method.PERCENTILE, percentile=99.0)
    # The bin that 1 begins ends at 33/4096 of 128.
    assert scale_of(found, percentile) == pytest.approx(33 / 4096 * 128 / 127)
    pow2 = QuantiseOptions(Mode.POW2, Method.MAX)
    assert scale_of(found, pow2) == 1.0
    assert scale_of(counted([128.0]), pow2) == 2.0
    assert scale_of(counted([0.0, 0.0]), QuantiseOptions()) == 1.0
    assert scale_of(Histogram(), QuantiseOptions()) == 1.0


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("tails", [2, 3, 30])
def test_the_least_error(mode: Mode, tails: int) -> None:
    """No scale that other methods choose is much better than the one with the least error."""
    values = np.random.default_rng(tails).standard_t(tails, 100_000).astype(np.float32)
    found = Histogram()
    found.add(values)

    def error(scale: float) -> float:
        return float(np.mean((np.clip(np.rint(values / scale), -127, 127) * scale - values) ** 2))

    best = error(scale_of(found, QuantiseOptions(mode)))
    full = scale_of(found, QuantiseOptions(mode, Method.MAX))
    for other in full * 2.0 ** -np.arange(0, 6, 1 if mode is Mode.POW2 else 0.25):
        assert best <= error(other) * 1.02


def test_costs_of_values_are_summed_in_their_bins() -> None:
    """Whatever the histogram has grown through; without costs, each value costs 1."""
    generator = np.random.default_rng(2)
    found, plain, cost = Histogram(), Histogram(), np.array([0.25, 3.0])
    values = [generator.standard_normal((6, 2)) * size for size in (1, 30, 2000)]
    for value in values:
        found.add(value, cost)
        plain.add(value)
    places = [(np.abs(value) * (BINS / found.end)).astype(int) for value in values]
    wanted = sum(
        np.bincount(place[:, column], minlength=BINS) * cost[column]
        for place in places
        for column in range(2)
    )
    np.testing.assert_allclose(found.costs, wanted)
    np.testing.assert_array_equal(found.counts, plain.counts)
    np.testing.assert_array_equal(plain.costs, plain.counts)
    found.add(np.zeros((3, 2)), cost)
    assert found.costs.sum() == pytest.approx((18 + 3) * cost.sum())


@pytest.mark.parametrize("mode", list(Mode))
@given(cost=st.floats(1e-3, 1e6))
@settings(max_examples=20, deadline=None)
def test_the_least_cost(mode: Mode, cost: float) -> None:
    """No other scale costs much less, whatever the channel of the few large values costs."""
    generator = np.random.default_rng(7)
    values = np.concatenate([generator.standard_normal((4000, 1)), np.full((4000, 1), 1e-3)], 1)
    values[::1000, 1] = 9
    costs = np.array([1, cost])
    found = Histogram()
    found.add(values, costs)

    def whole(scale: float) -> float:
        off = np.clip(np.rint(values / scale), -127, 127) * scale - values
        return float((off**2 * costs).sum())

    best = whole(scale_of(found, QuantiseOptions(mode)))
    full = scale_of(found, QuantiseOptions(mode, Method.MAX))
    for other in full * 2.0 ** -np.arange(0, 4, 1 if mode is Mode.POW2 else 0.125):
        assert best <= whole(other) * 1.05 + cost * 4e-4


def test_refusals() -> None:
    with pytest.raises(QuantisationError, match="infinite or NaN"):
        counted([1.0, np.nan])
    with pytest.raises(QuantisationError, match=r"percentile is 0: it has to lie in 0\.\.100"):
        QuantiseOptions(percentile=0)

"""Which of two is faster: more than the noise, and no more than the ratios of rounds show."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import TuningError
from tandem.compiler.tune.paired import CONFIDENCE, LEAST_PAIRS, paired_gain

TIMES = st.lists(
    st.tuples(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0), st.floats(0.5, 2.0)),
    min_size=LEAST_PAIRS,
    max_size=40,
)


@pytest.mark.parametrize(("pairs", "lost"), [(7, 0), (10, 0), (11, 1), (14, 2), (15, 2), (17, 3)])
def test_so_many_lost_rounds_are_forgiven_and_no_more(pairs: int, lost: int) -> None:
    """Of 11 fair coins at most one shows tails once in 171 throws, at most two once in 31."""
    for slower in (lost, lost + 1):
        challenger = [0.9] * (pairs - slower) + [1.2] * slower
        gain = paired_gain([1.0] * pairs, challenger)
        assert gain.wins() == (slower == lost)
        assert gain.least == pytest.approx((1 / 0.9 if slower == lost else 1 / 1.2) - 1)


@pytest.mark.parametrize("pairs", range(LEAST_PAIRS, 14))
def test_two_that_are_alike_win_no_more_often_than_said(pairs: int) -> None:
    """All ways in which the sign of so many differences can fall, counted."""
    wins = [
        paired_gain([1.0] * pairs, [0.9 if faster else 1.1 for faster in signs]).wins()
        for signs in product((True, False), repeat=pairs)
    ]
    assert 0 < np.mean(wins) <= 1 - CONFIDENCE


def test_fewer_pairs_decide_nothing() -> None:
    assert paired_gain([1.0] * LEAST_PAIRS, [0.5] * LEAST_PAIRS).wins()
    with pytest.raises(TuningError, match="6 pairs of times decide nothing: 7 are needed"):
        paired_gain([1.0] * 6, [0.5] * 6)


@pytest.mark.parametrize("time", [0.0, -1.0])
def test_times_that_are_none(time: float) -> None:
    with pytest.raises(TuningError, match="not above 0"):
        paired_gain([1.0] * 7, [1.0] * 6 + [time])


@given(TIMES)
def test_a_load_that_meets_both_of_a_round_changes_nothing(
    times: list[tuple[float, float, float]],
) -> None:
    plain = paired_gain([a for a, _, _ in times], [b for _, b, _ in times])
    loaded = paired_gain([a * load for a, _, load in times], [b * load for _, b, load in times])
    assert loaded.least == pytest.approx(plain.least)


@given(TIMES)
def test_not_both_win(times: list[tuple[float, float, float]]) -> None:
    first, second = [a for a, _, _ in times], [b for _, b, _ in times]
    assert not (paired_gain(first, second).wins() and paired_gain(second, first).wins())


def test_medians_and_the_bound_by_hand() -> None:
    default = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]
    challenger = [5.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0]
    gain = paired_gain(default, challenger)
    # The smallest of seven ratios: 11 / 10.
    assert (gain.default, gain.challenger) == (13.0, 10.0)
    assert gain.least == pytest.approx(0.1)
    assert gain.wins(0.09)
    assert not gain.wins(0.11)

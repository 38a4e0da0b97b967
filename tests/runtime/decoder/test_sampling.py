"""Tokens that are drawn: the best, or by their scores, and the same with the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.runtime.decoder import DecoderError, Sampler

FINITE = st.floats(-(2.0**100), 2.0**100, width=32)
SCORES = st.lists(FINITE, min_size=1, max_size=9).map(lambda scores: np.array(scores, np.float32))


@given(SCORES)
def test_greedy_takes_the_first_of_the_best(scores: NDArray[np.float32]) -> None:
    assert Sampler().next(scores) == [*scores].index(max(scores))


@given(SCORES, st.floats(1e-6, 1e6), st.integers(1, 9), st.integers(0, 99))
def test_one_of_the_best_is_drawn_and_the_same_again(
    scores: NDArray[np.float32], temperature: float, top_k: int, seed: int
) -> None:
    one, other = (Sampler(temperature, top_k, seed) for _ in range(2))
    drawn = [one.next(scores) for _ in range(5)]
    assert drawn == [other.next(scores) for _ in range(5)]
    least = sorted(scores)[-top_k:][0]
    assert all(scores[token] >= least for token in drawn)


def test_frequencies_are_those_of_softmax() -> None:
    scores = np.log(np.array([0.1, 0.2, 0.7], np.float32))
    sampler = Sampler(1.0, seed=5)
    counts = np.bincount([sampler.next(scores) for _ in range(20_000)], minlength=3)
    assert np.abs(counts / 20_000 - [0.1, 0.2, 0.7]).max() < 0.02
    halved = Sampler(0.5, seed=5)
    counts = np.bincount([halved.next(scores) for _ in range(20_000)], minlength=3)
    assert np.abs(counts / 20_000 - np.array([1, 4, 49]) / 54).max() < 0.02


def test_seeds_differ() -> None:
    scores = np.zeros(50, np.float32)
    one, other = Sampler(1.0, seed=1), Sampler(1.0, seed=2)
    assert [one.next(scores) for _ in range(9)] != [other.next(scores) for _ in range(9)]


@pytest.mark.parametrize("temperature", [-1.0, float("inf"), float("nan")])
def test_temperatures_that_are_none(temperature: float) -> None:
    with pytest.raises(DecoderError, match="0 or more is allowed"):
        Sampler(temperature)


@pytest.mark.parametrize("scores", [[0, np.nan], [np.inf, 1], [-np.inf, -np.inf]])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_that_are_no_numbers(scores: list[float], temperature: float) -> None:
    with pytest.raises(DecoderError, match="no token can be chosen"):
        Sampler(temperature).next(np.array(scores, np.float32))


def test_tokens_that_cannot_be() -> None:
    scores = np.array([-np.inf, 1, -np.inf], np.float32)
    assert [Sampler(2.0).next(scores), Sampler().next(scores)] == [1, 1]


def test_nothing_to_draw_from() -> None:
    with pytest.raises(DecoderError, match="at least 1"):
        Sampler(1.0, 0)

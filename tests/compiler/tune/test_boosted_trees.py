"""The learned cost model, on costs that are known functions of features and references."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.tune.boosted_trees import UNMEASURED, BoostedTrees, Measured
from tests.support.hw.rtl.rtl import seeds


def group(seed: int, count: int, scale: float, factor: float = 2.0) -> Measured:
    """Choices that cost their reference, or `factor` times that if their feature is large."""
    draw = np.random.default_rng(seed)
    features = draw.uniform(0, 1, (count, 1))
    references = scale * draw.uniform(1, 3, count)
    costs = references * np.where(features[:, 0] > 0.5, factor, 1.0)
    return Measured(features, costs, references)


@pytest.mark.parametrize("seed", seeds(3))
def test_what_one_workload_teaches_holds_for_others(seed: int) -> None:
    """Whatever their size: costs are learned as multiples of references."""
    model = BoostedTrees(seed)
    model.train([group(seed, 200, 1e3), group(seed + 1, 200, 1e6)])
    unseen = group(seed + 2, 300, 1e9)
    scores = model.scores(unseen.features, unseen.references)
    clear = np.abs(unseen.features[:, 0] - 0.5) > 0.05
    assert np.abs(scores + np.log(unseen.costs))[clear].max() < 0.1


def test_workloads_weigh_the_same() -> None:
    """However many of their choices were measured."""
    model = BoostedTrees(0)
    groups = (20, 4.0), (2000, 1.0)
    model.train([Measured(np.zeros((n, 1)), np.full(n, cost), np.ones(n)) for n, cost in groups])
    # The mean of log 4 and log 1.
    assert model.scores(np.zeros((1, 1)), np.ones(1)) == pytest.approx(-np.log(2), abs=0.1)


def test_what_was_not_measured_costs_more_than_anything_measured() -> None:
    features, references = np.zeros((3, 1)), np.array([10.0, 10.0, 100.0])
    labels = Measured(features, np.array([20.0, np.inf, 400.0]), references).labels
    assert labels == pytest.approx(np.log([2.0, UNMEASURED * 40.0, 4.0]))


def test_equal_seeds_learn_the_same() -> None:
    scores = []
    for _ in range(2):
        model, given = BoostedTrees(5), group(3, 50, 1)
        model.train([given])
        scores.append(model.scores(given.features, given.references))
    one, other = scores
    assert np.array_equal(one, other)


def test_gains_are_those_of_the_features_that_costs_depend_on() -> None:
    model, given = BoostedTrees(0), group(1, 200, 1)
    noise = np.zeros((200, 2))
    model.train([Measured(np.hstack([noise, given.features]), given.costs, given.references)])
    assert model.gains(3) == pytest.approx([0, 0, 1])
    flat = BoostedTrees(0)
    flat.train([Measured(noise, np.ones(200), np.ones(200))])
    assert flat.gains(2).tolist() == [0, 0]

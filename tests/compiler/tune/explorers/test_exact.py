"""Branch and bound finds the best choice, and measures no other than it must."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.tune.explorers.exact import Exact
from tandem.compiler.tune.tuner import Tuning
from tests.support.compiler.tune.tuning import KNOBS, candidates, measure_of


def number(choices: Choices) -> Floats:
    """The number of each choice in the space."""
    place = choices["x"] * len(KNOBS["y"]) + choices["y"]
    order = sum(at * choices.equals("order", name) for at, name in enumerate(KNOBS["order"]))
    return np.asarray(place * len(KNOBS["order"]) + order, np.float64)


@given(seed=st.integers(0, 2**32 - 1), slack=st.integers(0, 40))
def test_the_best_is_found_and_nothing_hopeless_is_measured(seed: int, slack: int) -> None:
    random = np.random.default_rng(seed)
    costs = random.integers(100, 160, 360).astype(np.float64)
    below = costs - random.integers(0, slack + 1, 360)

    def cost(choices: Choices) -> Floats:
        return costs[number(choices).astype(np.int64)]

    def bound(choices: Choices) -> Floats:
        return below[number(choices).astype(np.int64)]

    estimate = random.random(360)
    table = candidates(lambda choices: estimate, bound)
    tuning = Tuning(table, Exact(table, 0))
    while tuning.step(measure_of(cost), 1):
        certificate = tuning.certificate()
        assert certificate.bound <= costs.min() <= certificate.best
    certificate = tuning.certificate()
    assert certificate.best == certificate.bound == costs.min()
    assert certificate.certified
    assert certificate.measured + certificate.pruned == certificate.size == 360
    best = np.inf
    for trial in tuning.trials:
        assert below[trial.row] < best
        best = min(best, costs[trial.row])

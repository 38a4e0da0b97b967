"""Explorers by name."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.tune.boosted_trees import Measured
from tandem.compiler.tune.explorers.boosted import FIRST, Boosted
from tandem.compiler.tune.explorers.exact import Exact
from tandem.compiler.tune.explorers.genetic import Genetic
from tandem.compiler.tune.explorers.plain import ByEstimate, Grid, Random
from tandem.compiler.tune.explorers.table import EXPLORERS, make_explorer
from tests.support.compiler.tune.tuning import candidates

KINDS = {
    "xgboost": Boosted,
    "random": Random,
    "grid": Grid,
    "genetic": Genetic,
    "exact": Exact,
    "estimate": ByEstimate,
}


@pytest.mark.parametrize("name", KINDS)
def test_by_name(name: str) -> None:
    found = make_explorer(name, table := candidates(), 3)
    assert type(found) is KINDS[name]
    assert found.candidates is table
    # The seed is passed on.
    again, other = (make_explorer(name, table, seed) for seed in (3, 4))
    drawn = found.random.integers(1 << 30)
    assert again.random.integers(1 << 30) == drawn != other.random.integers(1 << 30)


def test_there_are_no_others() -> None:
    assert set(EXPLORERS) == set(KINDS)
    with pytest.raises(KeyError):
        make_explorer("luck", candidates(), 0)


def test_only_what_learns_takes_measurements_of_others() -> None:
    table = candidates()
    features, count = table.features, len(table)
    other = Measured(features, np.arange(1.0, count + 1), np.ones(count))
    # It begins with the model, of which others begin with what is random.
    learned = make_explorer("xgboost", table, 0, [other])
    assert len(learned.propose(20)) == 20
    assert len(make_explorer("xgboost", table, 0).propose(20)) == FIRST
    assert make_explorer("grid", table, 0, [other]).propose(2) == Grid(table, 0).propose(2)

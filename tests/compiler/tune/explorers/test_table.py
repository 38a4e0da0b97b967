"""Explorers by name."""

from __future__ import annotations

import pytest

from tandem.compiler.tune.explorers.boosted import Boosted
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

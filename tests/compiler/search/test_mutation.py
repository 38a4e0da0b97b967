"""The mutation of NSGA-II: neighbours, within the dimension."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import optuna
from optuna.distributions import IntDistribution
from optuna.samplers.nsgaii._mutation import perform_mutation

from tandem.compiler.search.mutation import STEPS, NeighbourMutation


def mutated(value: int, most: int) -> Counter[int]:
    """The numbers that come of one, with how often they do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        mutation = NeighbourMutation()
    rng = np.random.RandomState(0)
    study = optuna.create_study()
    dimension = IntDistribution(0, most)
    found = (perform_mutation(mutation, rng, study, dimension, value) for _ in range(600))
    return Counter(int(each) for each in found if each is not None)


def test_a_neighbour_is_likelier_than_the_next() -> None:
    found = mutated(5, 9)
    assert set(found) == {5 + step for step in STEPS}
    assert min(found[4], found[6]) > max(found[3], found[7])


def test_none_is_beyond_the_ends() -> None:
    assert set(mutated(0, 1)) == {0, 1}
    assert set(mutated(9, 9)) == {7, 8, 9}
    assert set(mutated(0, 0)) == {0}

"""Children of the best choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tandem.compiler.tune.explorers import genetic
from tandem.compiler.tune.explorers.genetic import ELITE, Genetic
from tandem.compiler.tune.trial import Outcome, Trial
from tests.support.compiler.tune.tuning import candidates

TABLE = candidates()


def trials(rows: Sequence[int], costs: Sequence[float] | None = None) -> list[Trial]:
    given = [float(at) for at in range(len(rows))] if costs is None else costs
    return [Trial(row, Outcome.measured(cost)) for row, cost in zip(rows, given, strict=True)]


def test_new_rows_only() -> None:
    explorer = Genetic(TABLE, 0)
    explorer.learn(trials(range(0, 300)))
    found = explorer.propose(1000)
    assert sorted(found) == list(range(300, 360))
    explorer.learn(trials(found))
    assert list(explorer.propose(5)) == []
    assert list(Genetic(TABLE, 0).propose(0)) == []
    few = Genetic(TABLE, 0).propose(7)
    assert len(few) == len(set(few)) == 7


def test_settings_of_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without mutation each setting is that of one of the best."""
    monkeypatch.setattr(genetic, "MUTATION", 0.0)
    explorer = Genetic(TABLE, 1)
    few = [
        row
        for row in range(len(TABLE))
        if TABLE.choice(row)["x"] in (1, 2) and TABLE.choice(row)["y"] in (3, 5, 7, 8)
    ]
    best, left = few[:ELITE], few[ELITE:]
    worse = [row for row in range(len(TABLE)) if row not in few][:40]
    explorer.learn(trials(worse, [1000.0] * 40))
    explorer.learn(trials(best))
    # The other combinations of what the parents have.
    assert {*explorer.propose(3)} <= {*left}


def test_the_best_of_all_trials() -> None:
    explorer = Genetic(TABLE, 0)
    explorer.learn(trials(range(20)))
    explorer.learn(trials([30, 40, 50], [0.5, 100.0, np.inf]))
    kept = [trial.row for trial in explorer._trials]
    assert kept == [0, 30, *range(1, ELITE - 1)]
    # Of equal costs the first row.
    equal = Genetic(TABLE, 0)
    equal.learn(trials([5, 3, 4], [1.0, 1.0, 1.0]))
    assert [trial.row for trial in equal._trials] == [3, 4, 5]


def test_the_same_for_a_seed() -> None:
    first, second, other = (Genetic(TABLE, seed) for seed in (5, 5, 6))
    for explorer in (first, second, other):
        explorer.learn(trials(range(40)))
    wanted = first.propose(10)
    assert wanted == second.propose(10)
    assert wanted != other.propose(10)

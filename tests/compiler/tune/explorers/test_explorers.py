"""What all explorers have in common, and what each does best."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.tune.boosted_trees import BoostedTrees
from tandem.compiler.tune.explorers import boosted
from tandem.compiler.tune.explorers.table import EXPLORERS
from tandem.compiler.tune.trial import Outcome, Trial
from tandem.compiler.tune.tuner import Tuning
from tests.support.compiler.tune.tuning import candidates, measure_of, valley

SIZE = 360
LEARNING = ("xgboost", "genetic")


def upside_down(choices: Choices) -> Floats:
    """An estimate that is wrong everywhere."""
    return -valley(choices)


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_choice_is_proposed_once(name: str) -> None:
    tuning = Tuning(candidates(), EXPLORERS[name](candidates(), 3))
    while tuning.step(measure_of(), 37):
        pass
    rows = [trial.row for trial in tuning.trials]
    assert len(rows) == len({*rows}) == SIZE
    assert tuning.certificate().certified


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", EXPLORERS)
def test_a_batch_of_one(name: str, seed: int) -> None:
    """The last one of a budget; to an explorer that draws a part at random it may be all random."""
    explorer = EXPLORERS[name](candidates(), seed)
    explorer.learn([Trial(row, Outcome.measured(200 + row)) for row in range(0, SIZE, 2)])
    (row,) = explorer.propose(1)
    assert row % 2


@pytest.mark.parametrize("name", EXPLORERS)
def test_what_was_tried_before_is_not_proposed(name: str) -> None:
    explorer = EXPLORERS[name](candidates(), 3)
    explorer.learn([Trial(row, Outcome.measured(200)) for row in range(0, SIZE, 2)])
    found = list(explorer.propose(SIZE))
    assert found
    assert all(row % 2 for row in found)


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_same_seed_proposes_the_same(name: str) -> None:
    runs = []
    for seed in (5, 5, 6):
        tuning = Tuning(candidates(), EXPLORERS[name](candidates(), seed))
        for _ in range(4):
            tuning.step(measure_of())
        runs.append([trial.row for trial in tuning.trials])
    assert runs[0] == runs[1]
    if name in (*LEARNING, "random"):
        assert runs[0] != runs[2]


@pytest.mark.parametrize("name", EXPLORERS)
def test_failures_do_not_stop_the_search(name: str) -> None:
    tuning = Tuning(candidates(), EXPLORERS[name](candidates(), 3))

    def measure(choices: object, limit: float) -> list[Outcome]:
        assert isinstance(choices, list)
        return [Outcome.failed("a reason")] * len(choices)

    for _ in range(3):
        assert len(tuning.step(measure)) == 8
    assert tuning.best is None


@pytest.mark.parametrize("name", LEARNING)
def test_learning_beats_chance(name: str) -> None:
    """Over ten seeds, 48 trials come closer to the best than as many at random."""
    found = {}
    for kind in (name, "random"):
        best = []
        for seed in range(10):
            tuning = Tuning(candidates(upside_down), EXPLORERS[kind](candidates(), seed))
            for _ in range(6):
                tuning.step(measure_of())
            best.append(tuning.explorer.best)
        found[kind] = np.mean(best)
    assert found[name] < found["random"]


def test_the_model_finds_the_valley() -> None:
    tuning = Tuning(candidates(), EXPLORERS["xgboost"](candidates(), 1))
    for _ in range(10):
        tuning.step(measure_of())
    assert tuning.explorer.best <= 101


def test_a_batch_of_the_model_is_diverse() -> None:
    explorer = EXPLORERS["xgboost"](candidates(), 1)
    tuning = Tuning(candidates(), explorer)
    for _ in range(3):
        tuning.step(measure_of())
    rows = list(explorer.propose(8))
    settings = candidates().settings[rows]
    assert len(np.unique(settings, axis=0)) == 8
    assert all(len(np.unique(column)) > 1 for column in settings.T[:2])


def test_a_new_setting_is_worth_a_part_of_the_range_of_scores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the best choice comes not the second, which has two of its settings, but one that has
    none of them and a score that is less by less than two settings are worth."""
    table = candidates()
    choices = table.choices

    def row(x: int, y: int, order: str) -> int:
        found = (choices["x"] == x) & (choices["y"] == y) & choices.equals("order", order)
        return int(np.flatnonzero(found)[0])

    best, like_it, far = row(7, 3, "b"), row(7, 3, "a"), row(2, 8, "a")
    measured = [row(0, number, "c") for number in range(boosted.FIRST)]
    unseen = np.setdiff1d(np.arange(len(choices)), measured)
    scores = np.zeros(len(choices))
    scores[best], scores[like_it] = 1.0, 0.999
    monkeypatch.setattr(boosted, "EPSILON", 0.0)
    monkeypatch.setattr(BoostedTrees, "train", lambda self, measured: None)
    monkeypatch.setattr(BoostedTrees, "scores", lambda self, features, references: scores[unseen])
    for less, second in ((0.5, far), (2.5, like_it)):
        scores[far] = 0.999 - less * boosted.DIVERSITY
        explorer = EXPLORERS["xgboost"](table, 0)
        explorer.learn([Trial(each, Outcome.measured(200)) for each in measured])
        assert list(explorer.propose(2)) == [best, second]


def test_the_grid_is_spread_over_the_space() -> None:
    first = sorted(EXPLORERS["grid"](candidates(), 0).propose(8))
    gaps = np.diff(first)
    assert gaps.min() > SIZE // 16


def test_the_estimate_s_order() -> None:
    explorer = EXPLORERS["estimate"](candidates(), 0)
    rows = list(explorer.propose(20))
    assert (np.diff(valley(candidates().choices)[rows]) >= 0).all()

"""The explorer that a cost model leads: what the model learns from, and what it proposes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.tune.boosted_trees import BoostedTrees, Measured
from tandem.compiler.tune.explorers import boosted
from tandem.compiler.tune.explorers.boosted import Boosted
from tandem.compiler.tune.trial import Outcome, Trial
from tests.support.compiler.tune.tuning import candidates


def bound(choices: Choices) -> Floats:
    """Bounds that differ from row to row."""
    found: Floats = 1.0 + choices["x"] + 0.5 * choices["y"]
    return found


TABLE = candidates(bound=bound)
SIZE = 360
OTHER = Measured(np.zeros((4, 3)), np.ones(4), np.ones(4))


class Model:
    """In place of the trees: notes what it is given, and scores rows as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trained: list[Sequence[Measured]] = []
        self.asked: list[tuple[Floats, Floats]] = []
        self.by_row = np.zeros(SIZE)
        self._rows = {tuple(row): at for at, row in enumerate(TABLE.features.tolist())}
        monkeypatch.setattr(BoostedTrees, "train", lambda _, groups: self.trained.append(groups))
        monkeypatch.setattr(BoostedTrees, "scores", lambda _, *given: self.scores(*given))

    def scores(self, features: Floats, references: Floats) -> Floats:
        self.asked.append((features, references))
        return self.by_row[[self._rows[tuple(row)] for row in features.tolist()]]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    """The model; nothing is random, and no setting is worth anything."""
    monkeypatch.setattr(boosted, "EPSILON", 0.0)
    monkeypatch.setattr(boosted, "DIVERSITY", 0.0)
    return Model(monkeypatch)


def trials(rows: Sequence[int], cost: float = 100.0) -> list[Trial]:
    return [Trial(row, Outcome.measured(cost + row)) for row in rows]


def failures(rows: Sequence[int]) -> list[Trial]:
    return [Trial(row, Outcome.failed("too large")) for row in rows]


def test_eight_random_choices_first(model: Model) -> None:
    explorer = Boosted(TABLE, 0)
    first = explorer.propose(20)
    assert len({*first}) == 8
    explorer.learn(trials(first[:5]))
    assert len(explorer.propose(20)) == 3
    assert len(explorer.propose(2)) == 2
    # Without a measured cost there is nothing to learn.
    explorer = Boosted(TABLE, 0)
    explorer.learn(failures(range(355)))
    assert sorted(explorer.propose(20)) == [355, 356, 357, 358, 359]
    assert len(explorer.propose(3)) == 3
    assert not model.trained


def test_what_a_seed_draws() -> None:
    one, same, other = (Boosted(TABLE, seed).propose(8) for seed in (1, 1, 2))
    assert list(one) == list(same) != list(other)


def test_what_the_model_learns_from(model: Model) -> None:
    explorer = Boosted(TABLE, 0)
    explorer.learn(trials(range(7)))
    explorer.learn(failures([40]))
    explorer.propose(1)
    ((own,),) = model.trained
    rows = [*range(7), 40]
    np.testing.assert_array_equal(own.features, TABLE.features[rows])
    np.testing.assert_array_equal(own.costs, [*range(100, 107), np.inf])
    np.testing.assert_array_equal(own.references, bound(TABLE.choices)[rows])
    ((features, references),) = model.asked
    unseen = [row for row in range(SIZE) if row not in rows]
    np.testing.assert_array_equal(features, TABLE.features[unseen])
    np.testing.assert_array_equal(references, bound(TABLE.choices)[unseen])


def test_other_workloads_are_learned_from_at_once(model: Model) -> None:
    explorer = Boosted(TABLE, 0, [OTHER])
    assert len(explorer.propose(3)) == 3
    explorer.learn(failures([1]))
    explorer.propose(3)
    assert [[each is OTHER for each in groups] for groups in model.trained] == [[True], [True]]
    explorer.learn(trials([2]))
    explorer.propose(3)
    other, own = model.trained[2]
    assert other is OTHER
    np.testing.assert_array_equal(own.costs, [np.inf, 102])


def test_the_best_scores_in_their_order(model: Model) -> None:
    explorer = Boosted(TABLE, 0, [OTHER])
    model.by_row[[100, 20, 300]] = [2.0, 3.0, 1.0]
    assert list(explorer.propose(3)) == [20, 100, 300]
    explorer.learn(trials([20]))
    assert list(explorer.propose(2)) == [100, 300]


def test_a_few_rows_are_left(model: Model) -> None:
    explorer = Boosted(TABLE, 0)
    explorer.learn(trials(range(357)))
    assert sorted(explorer.propose(8)) == [357, 358, 359]
    explorer.learn(trials([357, 358, 359]))
    assert list(explorer.propose(8)) == []


def test_a_part_is_random(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other rows than those of the best scores."""
    model.by_row[:8] = 1.0
    monkeypatch.setattr(boosted, "EPSILON", 1.0)
    drawn = [row for seed in range(4) for row in Boosted(TABLE, seed, [OTHER]).propose(8)]
    assert len(drawn) == 32
    assert max(drawn) > 300
    monkeypatch.setattr(boosted, "EPSILON", 0.5)
    for seed in range(4):
        found = Boosted(TABLE, seed, [OTHER]).propose(8)
        assert len({*found}) == 8
        scored = [row for row in found if row < 8]
        assert 1 <= len(scored) < 8
        assert found[: len(scored)] == sorted(scored)


def test_settings_that_the_batch_lacks(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores between 0 and 1, and 0.3 for a new setting: each new row is greedily the best."""
    monkeypatch.setattr(boosted, "DIVERSITY", 0.3)

    def row(x: int, y: int, order: str) -> int:
        found = TABLE.row({"x": x, "y": y, "order": order})
        assert found is not None
        return found

    model.by_row[:] = 0.0
    first, like_it = row(7, 3, "b"), row(7, 3, "a")
    far, half = row(2, 8, "a"), row(7, 8, "c")
    scores = {first: 1.0, like_it: 0.95, far: 0.4, half: 0.5}
    model.by_row[[*scores]] = [*scores.values()]
    # Behind the first: like it 0.95 + 0.3, far 0.4 + 0.9, half 0.5 + 0.6.
    # Behind both: like it 0.95, half 0.5 + 0.3, and others with three new settings 0.9.
    found = Boosted(TABLE, 0, [OTHER]).propose(3)
    assert list(found) == [first, far, like_it]


@pytest.mark.parametrize(("rank", "second"), [(15, 359), (16, 4)])
def test_the_batch_is_of_a_shortlist(
    model: Model, monkeypatch: pytest.MonkeyPatch, rank: int, second: int
) -> None:
    """Eight times as many as are proposed, the other rows are not, whatever settings they have.

    Of the first 30 rows, x=0, row 4 is the first whose y and order are not those of row 0; row 359
    has another x, too.
    """
    monkeypatch.setattr(boosted, "DIVERSITY", 100.0)
    best = [*range(rank), 359, *range(rank, 30)]
    model.by_row[best] = np.linspace(2.0, 1.0, 31)
    assert list(Boosted(TABLE, 0, [OTHER]).propose(2)) == [0, second]

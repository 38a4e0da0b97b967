"""The recurrent network over trees of loops, where PyTorch is installed."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.tune.loop_trees import LOOP_NUMBERS, STATEMENT_NUMBERS, LoopTree
from tandem.compiler.tune.tree_rnn import MeasuredPrograms, TreeRnn

pytest.importorskip("torch", reason="the extra `treernn` brings it")


def loop(trips: float, *inside: LoopTree) -> LoopTree:
    return LoopTree((trips, 1.0, *(0.0,) * (LOOP_NUMBERS - 2)), inside)


def statement(number: float) -> LoopTree:
    return LoopTree((number, *(0.0,) * (STATEMENT_NUMBERS - 1)))


def drawn(seed: int, count: int = 60) -> MeasuredPrograms:
    """Programs of one to three nests: each costs the product of its loops' trips, of which the
    reference knows nothing."""
    random = np.random.default_rng(seed)
    trees, costs = [], []
    for _ in range(count):
        nests = []
        for _ in range(random.integers(1, 4)):
            outer, inner = random.uniform(1, 4, 2)
            nests.append(((outer, inner), loop(outer, loop(inner, statement(1.0)))))
        trees.append(loop(0.0, *(tree for _, tree in nests)))
        costs.append(sum(2 ** (outer + inner) for (outer, inner), _ in nests))
    return MeasuredPrograms(tuple(trees), np.array(costs), np.ones(count))


def in_order(scores: np.ndarray, costs: np.ndarray) -> float:
    """The part of the pairs whose order is right."""
    less = costs[:, None] < costs[None, :]
    return float((scores[:, None] > scores[None, :])[less].mean())


def test_it_learns_from_trees_what_sums_of_products_cost() -> None:
    model, unseen = TreeRnn(0), drawn(9)
    model.train([drawn(1), drawn(2), drawn(3)])
    scores = model.scores(unseen.trees, unseen.references)
    assert scores.shape == (60,)
    assert in_order(scores, unseen.costs) > 0.9
    # Scores are those of costs: half a reference is half a cost.
    half = model.scores(unseen.trees, unseen.references / 2)
    assert half - scores == pytest.approx(np.log(2) * np.ones(60))


def test_a_seed_is_a_model() -> None:
    def trained(seed: int) -> np.ndarray:
        model = TreeRnn(seed, epochs=2)
        model.train([drawn(1, 8)])
        return model.scores(drawn(2, 8).trees, np.ones(8))

    assert (trained(1) == trained(1)).all()
    assert (trained(1) != trained(2)).any()


def test_the_order_of_nests_and_the_company_of_a_program_change_nothing() -> None:
    model, programs = TreeRnn(0, epochs=2), drawn(1)
    model.train([programs])
    turned = [LoopTree(tree.numbers, tree.inside[::-1]) for tree in programs.trees]
    scores = model.scores(programs.trees, programs.references)
    assert model.scores(turned, programs.references) == pytest.approx(scores, abs=1e-5)
    alone = [model.scores([tree], np.ones(1))[0] for tree in programs.trees]
    assert np.array(alone) == pytest.approx(scores, abs=1e-5)

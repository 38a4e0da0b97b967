"""How well cost models rank the choices of a workload that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tandem.compiler.plan.space import Floats, Ints
from tandem.compiler.tune.boosted_trees import BoostedTrees, Measured
from tandem.compiler.tune.candidates import Candidates

CLOSE = 1.5
"""Choices are close if they cost at most this multiple of the best."""
DIFFERENT = 1.02
"""Pairs differ in cost by more than this factor."""
TOP = 5
"""The choices that a model likes best, of which the best counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Measured choices of a workload.

    Attributes
    ----------
    rows
        Of the candidates.
    costs
        Of these rows, all finite.
    """

    candidates: Candidates
    rows: Ints
    costs: Floats

    @property
    def measured(self) -> Measured:
        """As the learned model is trained on it."""
        candidates, rows = self.candidates, self.rows
        return Measured(candidates.features[rows], self.costs, candidates.references[rows])

    def learned(self, others: Sequence[Ranking], seed: int) -> Floats:
        """Scores of all candidates, by a model that is trained on other workloads only."""
        model = BoostedTrees(seed)
        model.train([other.measured for other in others])
        return model.scores(self.candidates.features, self.candidates.references)


def sampled(candidates: Candidates, best: float, count: int, seed: int) -> Ints:
    """Rows drawn uniformly from those that can be close to the best cost.

    All close choices are among these, as no choice costs less than its lower bound: so close ones
    are drawn uniformly, too, whatever any model thinks of them.
    """
    order = np.random.default_rng(seed).permutation(len(candidates))
    return np.sort(order[candidates.bounds[order] <= CLOSE * best][:count])


def top(scores: Floats) -> Ints:
    """The rows of the highest scores."""
    return np.argsort(-scores, kind="stable")[:TOP]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How well scores order pairs of close choices.

    Attributes
    ----------
    pairs
        Pairs of close choices that differ in cost.
    right
        The part of the pairs in the right order, of which equal scores count half; NaN without
        pairs.
    """

    pairs: int
    right: float


def accuracy(scores: Floats, costs: Floats, best: float) -> Accuracy:
    """The accuracy of scores (higher is better) for choices with these costs."""
    close = np.flatnonzero(costs <= CLOSE * best)
    cheap, dear = np.nonzero(costs[close][None, :] > DIFFERENT * costs[close][:, None])
    lead = scores[close][cheap] - scores[close][dear]
    right = (lead > 0).sum() + 0.5 * (lead == 0).sum()
    return Accuracy(len(lead), float(right / len(lead)) if len(lead) else float("nan"))

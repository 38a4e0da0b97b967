"""How well cost models rank the choices of a workload that they have not seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.templates.space import Floats, Ints
from compiler.tune.boosted_trees import BoostedTrees, Measured
from compiler.tune.candidates import Candidates
from compiler.tune.records import Record

CLOSE = 1.5
"""Pairs are of choices that cost at most this multiple of the best."""
DIFFERENT = 1.02
"""Pairs differ in cost by more than this factor."""
TOP = 5
"""The choices that a model likes best, of which the best counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The measured choices of a workload.

    Attributes
    ----------
    rows
        Of the candidates.
    costs
        Infinite for choices that failed or were abandoned.
    """

    candidates: Candidates
    rows: Ints
    costs: Floats

    @staticmethod
    def of(candidates: Candidates, records: Iterable[Record]) -> Ranking | None:
        """The choices of records; None if nothing was measured."""
        found: dict[int, float] = {}
        for record in records:
            row = candidates.row(record.choice)
            if row is not None:
                found[row] = min(record.outcome.cost, found.get(row, np.inf))
        rows, costs = np.array([*found], np.int64), np.array([*found.values()], np.float64)
        return Ranking(candidates, rows, costs) if np.isfinite(costs).any() else None

    @property
    def measured(self) -> Measured:
        """As the learned model is trained on it."""
        return Measured(self.candidates.features[self.rows], self.costs)

    @property
    def estimates(self) -> Floats:
        """The compiler's estimates, as scores: higher is better."""
        return -self.candidates.estimates[self.rows]

    def learned(self, others: Sequence[Ranking], seed: int) -> Floats:
        """Scores by a model that is trained on other workloads only."""
        model = BoostedTrees(seed)
        model.train([other.measured for other in others])
        return model.scores(self.candidates.features[self.rows])


@dataclass(frozen=True, slots=True)
class Quality:
    """How well scores rank choices.

    Attributes
    ----------
    pairs
        The pairs that `accuracy` is about.
    accuracy
        The part of the pairs in the right order, of which equal scores count half; NaN without
        pairs.
    top
        The lowest cost among the choices with the highest scores, as a multiple of the lowest cost.
    """

    pairs: int
    accuracy: float
    top: float


def quality(scores: Floats, costs: Floats) -> Quality:
    """The quality of scores (higher is better) for choices with these costs, some finite."""
    best = costs.min()
    order = np.argsort(-scores, kind="stable")[:TOP]
    close = np.flatnonzero(costs <= CLOSE * best)
    cheap, dear = np.nonzero(costs[close][None, :] > DIFFERENT * costs[close][:, None])
    lead = scores[close][cheap] - scores[close][dear]
    right = (lead > 0).sum() + 0.5 * (lead == 0).sum()
    accuracy = float(right / len(lead)) if len(lead) else float("nan")
    return Quality(len(lead), accuracy, float(costs[order].min() / best))

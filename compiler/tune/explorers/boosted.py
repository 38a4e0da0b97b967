"""The explorer that a learned cost model leads, after AutoTVM (Chen et al., NeurIPS 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tandem.compiler.plan.space import Floats, Ints
from tandem.compiler.tune.boosted_trees import BoostedTrees, Measured
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.explorer import Explorer
from tandem.compiler.tune.trial import Trial

FIRST = 8
"""Random choices that are measured before the first training."""
EPSILON = 0.1
"""The part of random choices in each batch."""
SHORTLIST = 8
"""The batch is chosen among so many times as many of the best predicted choices."""
DIVERSITY = 0.02
"""What a setting that the batch does not have yet is worth, in parts of the range of scores."""


class Boosted(Explorer):
    """Measures what the model ranks highest, and trains the model on all trials before each batch.

    The base space is a table of some ten thousand choices: the model scores all of them, so that
    no annealing has to look for its maxima. As in AutoTVM a batch is diverse (section 3.3), and
    some of it is random.

    Parameters
    ----------
    others
        Measurements of other workloads, to be learned from as well.
    """

    def __init__(self, candidates: Candidates, seed: int, others: Sequence[Measured] = ()) -> None:
        super().__init__(candidates, seed)
        self._others = others
        self._model = BoostedTrees(seed)
        self._trials: list[Trial] = []

    def learn(self, trials: Sequence[Trial]) -> None:
        super().learn(trials)
        self._trials += trials

    def propose(self, count: int) -> Sequence[int]:
        unseen = np.flatnonzero(~self.seen)
        finite = np.isfinite(self.best)
        if not len(unseen):
            return ()
        if not self._others and len(self._trials) < FIRST:
            return self._draw(unseen, min(count, FIRST - len(self._trials)))
        if not self._others and not finite:
            return self._draw(unseen, count)
        own = [self._measured()] if finite else []
        self._model.train([*self._others, *own])
        candidates = self.candidates
        scores = self._model.scores(candidates.features[unseen], candidates.references[unseen])
        at_random = int(self.random.binomial(count, EPSILON))
        # A small batch may be all random.
        chosen = self._diverse(unseen, scores, count - at_random) if at_random < count else []
        remaining = np.setdiff1d(unseen, chosen)
        return [*chosen, *self._draw(remaining, at_random)]

    def _draw(self, rows: Ints, count: int) -> list[int]:
        drawn = self.random.choice(rows, min(count, len(rows)), replace=False)
        return [int(row) for row in drawn]

    def _measured(self) -> Measured:
        rows = np.array([trial.row for trial in self._trials])
        costs = np.array([trial.outcome.cost for trial in self._trials])
        return Measured(self.candidates.features[rows], costs, self.candidates.references[rows])

    def _diverse(self, rows: Ints, scores: Floats, count: int) -> list[int]:
        """Rows of high scores, greedily, of which each adds settings that the batch lacks."""
        order = np.argsort(-scores, kind="stable")[: SHORTLIST * count]
        rows, scores = rows[order], scores[order]
        settings = self.candidates.settings[rows]
        worth = DIVERSITY * max(float(np.ptp(scores)), np.finfo(np.float64).tiny)
        new = np.ones(settings.shape, np.bool_)
        chosen: list[int] = []
        value = scores.copy()
        for _ in range(min(count, len(rows))):
            at = int(np.argmax(value + worth * new.sum(axis=1)))
            chosen.append(int(rows[at]))
            value[at] = -np.inf
            new &= settings != settings[at]
        return chosen

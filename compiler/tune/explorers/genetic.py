"""A genetic algorithm over the settings of knobs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.explorer import Explorer
from tandem.compiler.tune.trial import Trial

ELITE = 16
"""The number of best choices that have children."""
MUTATION = 0.15
"""The probability that a setting of a child is drawn anew."""
ATTEMPTS = 64
"""Children that are drawn for one that fits and is new, before a random choice takes its place."""


class Genetic(Explorer):
    """Crosses the best choices: each setting comes from one of two parents, or is drawn anew."""

    def __init__(self, candidates: Candidates, seed: int) -> None:
        super().__init__(candidates, seed)
        self._trials: list[Trial] = []

    def learn(self, trials: Sequence[Trial]) -> None:
        super().learn(trials)
        kept = sorted([*self._trials, *trials], key=lambda trial: (trial.outcome.cost, trial.row))
        self._trials = kept[:ELITE]

    def propose(self, count: int) -> Sequence[int]:
        found: dict[int, None] = {}
        unseen = int((~self.seen).sum())
        while len(found) < min(count, unseen):
            found[self._child(found)] = None
        return list(found)

    def _child(self, taken: dict[int, None]) -> int:
        settings = self.candidates.settings
        for _ in range(ATTEMPTS if len(self._trials) == ELITE else 0):
            mother, father = self.random.choice(ELITE, 2, replace=False)
            rows = np.stack([settings[self._trials[int(one)].row] for one in (mother, father)])
            child = rows[self.random.integers(2, size=rows.shape[1]), np.arange(rows.shape[1])]
            stranger = settings[self.random.integers(len(settings))]
            child = np.where(self.random.random(len(child)) < MUTATION, stranger, child)
            row = self.candidates.rows_by_settings.get(tuple(child.tolist()))
            if row is not None and not self.seen[row] and row not in taken:
                return row
        free = np.setdiff1d(np.flatnonzero(~self.seen), list(taken))
        return int(self.random.choice(free))

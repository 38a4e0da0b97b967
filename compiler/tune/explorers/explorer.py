"""The interface of explorers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from tandem.compiler.plan.space import Bools
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.trial import Trial


class Explorer(ABC):
    """Proposes rows of a table of candidates, and learns from their trials.

    Everything random comes from `seed`: equal outcomes lead to equal proposals.
    """

    patience = 8.0
    """Measurements are abandoned at this multiple of the best cost."""

    def __init__(self, candidates: Candidates, seed: int) -> None:
        self.candidates = candidates
        self.random = np.random.default_rng(seed)
        self.seen: Bools = np.zeros(len(candidates), np.bool_)
        """The rows with a trial, whichever explorer asked for it."""
        self.best = np.inf
        """The lowest measured cost."""

    @abstractmethod
    def propose(self, count: int) -> Sequence[int]:
        """At most `count` different rows without a trial; none if the search is complete."""

    def learn(self, trials: Sequence[Trial]) -> None:
        """Take note of trials."""
        for trial in trials:
            self.seen[trial.row] = True
            self.best = min(self.best, trial.outcome.cost)

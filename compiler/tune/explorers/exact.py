"""The exact explorer: branch and bound over the whole space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.explorer import Explorer


class Exact(Explorer):
    """Proposes every choice that can still be better than the best, the most promising first.

    A choice whose lower bound is not below the best measured cost cannot be better. The search is
    complete when no other choice is left.
    """

    patience = 1.0

    def __init__(self, candidates: Candidates, seed: int) -> None:
        super().__init__(candidates, seed)
        self._order = np.lexsort((candidates.bounds, candidates.estimates))

    def propose(self, count: int) -> Sequence[int]:
        open_ = ~self.seen & (self.candidates.bounds < self.best)
        return self._order[open_[self._order]][:count].tolist()

"""What every explorer notes of trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tandem.compiler.tune.explorers.explorer import Explorer
from tandem.compiler.tune.trial import Outcome, Trial
from tests.support.compiler.tune.tuning import candidates


class Silent(Explorer):
    """Proposes nothing."""

    def propose(self, count: int) -> Sequence[int]:
        return []


def test_what_is_noted() -> None:
    explorer = Silent(table := candidates(), 7)
    assert explorer.best == np.inf
    assert explorer.patience == 8
    assert len(explorer.seen) == len(table)
    assert not explorer.seen.any()
    explorer.learn([])
    assert explorer.best == np.inf
    explorer.learn([Trial(3, Outcome.measured(5.0)), Trial(9, Outcome.failed("it"))])
    explorer.learn([Trial(4, Outcome.measured(6.0)), Trial(0, Outcome.abandoned())])
    assert explorer.best == 5
    assert np.flatnonzero(explorer.seen).tolist() == [0, 3, 4, 9]
    again = Silent(table, 7)
    assert (
        again.random.integers(1000, size=5).tolist()
        == np.random.default_rng(7).integers(1000, size=5).tolist()
    )

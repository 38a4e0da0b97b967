"""Orders of explorers that learn nothing."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from tandem.compiler.tune.explorers.plain import ByEstimate, Grid, InOrder, Random


class Rows:
    """So many rows, whose estimates fall and rise again."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.estimates = np.abs(np.arange(count) - 2.0)

    def __len__(self) -> int:
        return self._count


def proposed(kind: type[InOrder], count: int, seed: int = 0) -> list[int]:
    explorer = kind(cast(Any, Rows(count)), seed)
    found = [*explorer.propose(1), *explorer.propose(count)]
    assert [*explorer.propose(1)] == []
    return found


@pytest.mark.parametrize(
    ("count", "wanted"),
    [
        (1, [0]),
        (2, [0, 1]),
        (3, [0, 2, 1]),
        (5, [0, 4, 2, 1, 3]),
        (8, [0, 4, 2, 6, 1, 5, 3, 7]),
        (9, [0, 8, 4, 2, 6, 1, 5, 3, 7]),
    ],
)
def test_a_grid_is_evenly_spread(count: int, wanted: list[int]) -> None:
    assert proposed(Grid, count) == wanted


def test_other_orders() -> None:
    assert proposed(InOrder, 4) == [0, 1, 2, 3]
    # Of equal estimates, the first row.
    assert proposed(ByEstimate, 5) == [2, 1, 3, 0, 4]
    drawn = proposed(Random, 50)
    assert sorted(drawn) == [*range(50)] != drawn
    assert drawn == proposed(Random, 50)
    assert drawn != proposed(Random, 50, seed=1)


def test_rows_with_a_trial_are_not_proposed() -> None:
    explorer = InOrder(cast(Any, Rows(5)), 0)
    assert [*explorer.propose(2)] == [0, 1]
    explorer.seen[[2, 4]] = True
    assert [*explorer.propose(2)] == [3]

"""Sets of candidates: no set that is allowed is better than the best that was found."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.discovery.costs import Budget, SetCost
from tandem.compiler.machines.accelerator.discovery.sets import (
    Rater,
    all_sets,
    front,
    greedy,
    shortlist,
)

COUNT = 6
WHOLE = 1000
NUMBERS = st.lists(st.integers(0, 100), min_size=COUNT, max_size=COUNT)


def rater(saves: list[int], tables: list[int], joint: int) -> Rater:
    """Candidates that save cycles of two networks; the first two together save more."""

    def passes(chosen: Iterable[int]) -> tuple[int, ...]:
        own = {*chosen}
        saved = sum(saves[one] for one in own) + joint * ({0, 1} <= own)
        return WHOLE - min(saved, WHOLE), WHOLE - min(2 * saved, WHOLE)

    return Rater(
        (2 * WHOLE, 4 * WHOLE), passes, lambda one: SetCost(tables[one], 1, tables[one] / WHOLE)
    )


@given(NUMBERS, NUMBERS, st.integers(0, 200), st.integers(0, 300))
def test_exact_sets(saves: list[int], tables: list[int], joint: int, limit: int) -> None:
    rates, budget = rater(saves, tables, joint), Budget(limit / WHOLE, 3)
    every = [rates.rate(chosen) for size in range(4) for chosen in combinations(range(COUNT), size)]
    best = min(one.ratio for one in every if one.cost.within(budget))
    found = [one for one in all_sets(rates, range(COUNT), 3) if one.cost.within(budget)]
    assert min(one.ratio for one in found) == best
    assert best <= greedy(rates, range(COUNT), 3, budget).ratio <= 1


@given(NUMBERS, NUMBERS, st.integers(0, 200))
def test_front(saves: list[int], tables: list[int], joint: int) -> None:
    sets = [*all_sets(rater(saves, tables, joint), range(COUNT), 3)]
    found = front(sets)
    assert found[-1].cost.lut == 0
    for one, other in pairwise(found):
        assert one.ratio <= other.ratio
        assert one.cost.lut > other.cost.lut
    for one in sets:
        assert any(other.ratio <= one.ratio and other.cost.lut <= one.cost.lut for other in found)


def test_a_pair_that_greed_misses() -> None:
    """Alone the second saves nothing, so that growing takes the third; the pair is better."""
    rates = rater([30, 0, 40, 0, 0, 0], [10] * COUNT, 100)
    budget = Budget(0.02, 8)
    grown = greedy(rates, range(COUNT), 3, budget)
    exact = min(
        (one for one in all_sets(rates, range(COUNT), 3) if one.cost.within(budget)),
        key=lambda one: one.order,
    )
    assert (grown.chosen, exact.chosen) == ((0, 2), (0, 1))


def test_shortlist_has_smaller_variants() -> None:
    """Of a kind, what saves nearly as much with fewer gates is kept."""
    rates = rater([100, 90, 50, 1, 1, 0], [50, 5, 50, 50, 50, 50], 0)
    found = shortlist(rates, range(COUNT), lambda one: "kind" if one < 2 else str(one), 3)
    assert {0, 1} <= {*found}

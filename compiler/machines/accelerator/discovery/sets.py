"""Sets of candidates: the best under a budget, greedily and exactly, and the front."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from tandem.compiler.machines.accelerator.discovery.costs import Budget, SetCost

NEARLY = 0.2
"""The part of what the best candidate saves that a variant of it may lose."""
VARIANTS = 4
"""Variants of a candidate, and others beside it, that are kept."""
Positions: TypeAlias = tuple[int, ...]
"""Candidates by their positions, in ascending order."""


@dataclass(frozen=True, slots=True)
class RatedSet:
    """A set of candidates.

    Attributes
    ----------
    cycles
        Of each network, estimated: those of all but passes stay as they are.
    ratio
        The mean over networks of cycles with the set, as a part of those without.
    """

    chosen: Positions
    cycles: tuple[int, ...]
    ratio: float
    cost: SetCost

    @property
    def order(self) -> tuple[float, int, int, Positions]:
        """Sets are better the smaller this is: few cycles, then few gates, then few operations."""
        return self.ratio, self.cost.lut, len(self.chosen), self.chosen


@dataclass(frozen=True)
class Rater:
    """Rates sets of candidates.

    Attributes
    ----------
    before
        The cycles of each network on the base machine.
    passes
        The cycles of each network's passes with some candidates.
    cost
        What one candidate takes. Of a set it is the sum, so that gates that operations share
        count twice.
    """

    before: tuple[int, ...]
    passes: Callable[[Iterable[int]], tuple[int, ...]]
    cost: Callable[[int], SetCost]

    def rate(self, chosen: Positions) -> RatedSet:
        """A set with its cycles and its cost."""
        return self.with_cost(chosen, *self.cycles(chosen))

    def cycles(self, chosen: Positions) -> tuple[tuple[int, ...], float]:
        """The estimated cycles of each network, and their mean ratio."""
        saved = zip(self.before, self.passes(()), self.passes(chosen), strict=True)
        cycles = tuple(whole - base + own for whole, base, own in saved)
        ratios = [own / whole for own, whole in zip(cycles, self.before, strict=True)]
        return cycles, sum(ratios) / len(ratios)

    def with_cost(self, chosen: Positions, cycles: tuple[int, ...], ratio: float) -> RatedSet:
        """A set of which the cycles are known."""
        return RatedSet(chosen, cycles, ratio, sum(map(self.cost, chosen), SetCost(0, 0, 0.0)))


def greedy(rater: Rater, candidates: Sequence[int], most: int, budget: Budget) -> RatedSet:
    """A set that grows by the candidate that saves most, as long as one saves anything."""
    best = rater.rate(())
    while len(best.chosen) < most:
        grown = (
            rater.rate(tuple(sorted((*best.chosen, one))))
            for one in candidates
            if one not in best.chosen
        )
        fitting = [each for each in grown if each.cost.within(budget) and each.ratio < best.ratio]
        if not fitting:
            break
        best = min(fitting, key=lambda each: each.order)
    return best


def all_sets(rater: Rater, candidates: Sequence[int], most: int) -> Iterator[RatedSet]:
    """Every set of at most `most` candidates in which each saves something beside the others."""
    known: dict[Positions, float] = {}
    for size in range(most + 1):
        for chosen in combinations(sorted(candidates), size):
            cycles, ratio = rater.cycles(chosen)
            known[chosen] = ratio
            smaller = (chosen[:at] + chosen[at + 1 :] for at in range(size))
            if all(ratio < known[each] for each in smaller):
                yield rater.with_cost(chosen, cycles, ratio)


def front(sets: Iterable[RatedSet]) -> tuple[RatedSet, ...]:
    """The sets that no other beats in cycles without more gates, fewest cycles first."""
    found: list[RatedSet] = []
    for one in sorted(sets, key=lambda each: each.order):
        if not found or one.cost.lut < found[-1].cost.lut:
            found.append(one)
    return tuple(found)


def shortlist(
    rater: Rater, candidates: Sequence[int], kind: Callable[[int], str], count: int
) -> tuple[int, ...]:
    """About `count` candidates that the best sets are sought among.

    Beside what is chosen already, first nothing, the candidate that saves most is chosen, with
    others of its kind that save nearly as much: these may be smaller. Then the next one is, until
    none saves anything, or no more are allowed; those that save most alone fill what is left.

    Parameters
    ----------
    kind
        What makes two candidates variants of one operation.
    """
    found: dict[int, None] = {}
    chosen: Positions = ()
    reached = 1.0
    while len(found) < count:
        ratios = {
            one: rater.cycles(tuple(sorted((*chosen, one))))[1]
            for one in candidates
            if one not in chosen
        }
        best = min(ratios, key=lambda one: (ratios[one], one), default=None)
        if best is None or ratios[best] >= reached:
            break
        enough = ratios[best] + NEARLY * (reached - ratios[best])
        variants = sorted(
            (one for one in ratios if kind(one) == kind(best) and ratios[one] <= enough),
            key=lambda one: (rater.cost(one).lut, ratios[one], one),
        )
        rest = sorted(ratios, key=lambda one: (ratios[one], one))
        found |= dict.fromkeys([best, *variants[:VARIANTS], *rest[:VARIANTS]])
        chosen, reached = tuple(sorted((*chosen, best))), ratios[best]
    # What was chosen first may have smaller variants that do as well beside what came later.
    for one in chosen:
        others = tuple(other for other in chosen if other != one)
        without = rater.cycles(others)[1]
        ratios = {
            each: rater.cycles(tuple(sorted((*others, each))))[1]
            for each in candidates
            if kind(each) == kind(one) and each not in others
        }
        variants = sorted(
            (
                each
                for each, ratio in ratios.items()
                if ratio <= reached + NEARLY * (without - reached)
            ),
            key=lambda each: (rater.cost(each).lut, ratios[each], each),
        )
        found = dict.fromkeys((*variants[:VARIANTS], *found))
    alone = sorted(candidates, key=lambda one: (rater.cycles((one,))[1], one))
    found |= dict.fromkeys(alone[: max(0, count - len(found))])
    return (*sorted(found),)

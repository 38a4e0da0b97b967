"""How many trials explorers need, over many seeds, from the same measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.table import EXPLORERS
from tandem.compiler.tune.recorded import Proposer
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import BATCH, Measure, Tuning

SEEDLESS = frozenset({"estimate", "grid"})
"""Explorers whose proposals do not depend on the seed."""
FIXED = SEEDLESS | {"random"}
"""Explorers whose proposals do not depend on outcomes."""


@dataclass(frozen=True, slots=True)
class Needed:
    """The trials that an explorer needed to come close to the best known cost.

    Attributes
    ----------
    trials
        For each seed; None if it was not reached.
    """

    trials: tuple[int | None, ...]

    @staticmethod
    def of(searches: Sequence[Sequence[float]], goal: float) -> Needed:
        """The trials up to a cost of at most `goal`, of searches as the costs of their trials."""
        return Needed(tuple(_first_within(costs, goal) for costs in searches))

    @property
    def median(self) -> float:
        """The median over seeds; infinite if it was not reached."""
        return float(median(inf if count is None else count for count in self.trials))

    def within(self, most: int) -> int:
        """The number of seeds that needed at most so many trials."""
        return sum(count is not None and count <= most for count in self.trials)


def searches_of(
    candidates: Candidates,
    explorer: str,
    seeds: int,
    trials: int,
    measure_by: Callable[[Proposer], Measure],
    enough: float = -inf,
) -> Iterator[tuple[float, ...]]:
    """The costs of the trials of each seed's search, in their order.

    A search starts from nothing: neither the default choice nor the estimate's is measured first.

    Parameters
    ----------
    enough
        A search ends with the batch that finds a cost of at most this.
    """
    for seed in range(1 if explorer in SEEDLESS else seeds):
        tuning = Tuning(candidates, EXPLORERS[explorer](candidates, seed))
        measure = measure_by(Proposer(explorer, seed))
        while len(tuning.trials) < trials and tuning.explorer.best > enough:
            if not tuning.step(measure, min(BATCH, trials - len(tuning.trials))):
                break
        yield tuple(trial.outcome.cost for trial in tuning.trials)


def unless_too_dear(measure: Measure, candidates: Candidates, most: float) -> Measure:
    """Measures only choices that may cost at most `most`; others are abandoned.

    For explorers whose proposals do not depend on outcomes.
    """

    def found(choices: Sequence[Choice], limit: float) -> list[Outcome]:
        rows = [candidates.row(choice) for choice in choices]
        cheap = [at for at, row in enumerate(rows) if candidates.bounds[row] <= most]
        measured = dict(
            zip(cheap, measure([choices[at] for at in cheap], limit), strict=True) if cheap else ()
        )
        return [measured.get(at, Outcome.abandoned()) for at in range(len(choices))]

    return found


def _first_within(costs: Sequence[float], goal: float) -> int | None:
    return next((number for number, cost in enumerate(costs, 1) if cost <= goal), None)

"""Tuning of one workload: an explorer proposes choices, a measurer measures them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tandem.compiler.errors import BoundError
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.explorers.explorer import ChoiceTable, Search
from tandem.compiler.tune.trial import Outcome, Trial

Measure: TypeAlias = Callable[[Sequence[Choice], float], Sequence[Outcome]]
"""Measures choices; costs above the limit, the second argument, may be abandoned."""

BATCH = 8
"""Choices that are proposed at once: fixed, so that results do not depend on the number of
processes that measure."""
CLOSE = 0.005
"""A best cost beyond the space's lower bound by no more than this part of it is certified."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of the best cost in a space.

    Attributes
    ----------
    size
        Choices in the space that fit.
    measured
        Choices with a trial.
    pruned
        Choices without a trial whose lower bound is not below the best cost.
    bound
        No choice of the space costs less.
    listed
        Whether all choices of the space are known; of others that were drawn, nothing is certified.
    """

    size: int
    measured: int
    pruned: int
    best: float
    bound: float
    listed: bool = field(default=True, repr=False)

    @property
    def gap(self) -> float:
        """The best cost beyond the bound, as a part of the bound."""
        return self.best / self.bound - 1 if self.bound else float("inf")

    @property
    def certified(self) -> bool:
        """Whether every choice was measured or pruned, or the best is close to the bound."""
        return self.listed and (
            self.measured + self.pruned == self.size or self.best - self.bound <= CLOSE * self.bound
        )


@dataclass
class Tuning:
    """The state of tuning one workload.

    Attributes
    ----------
    trials
        All trials in their order.
    incumbent
        A choice outside the space, which trials have to beat, and its cost.
    """

    candidates: ChoiceTable
    explorer: Search
    trials: list[Trial] = field(default_factory=list)
    incumbent: tuple[Choice, float] | None = None

    def __post_init__(self) -> None:
        if self.incumbent is not None:
            self.explorer.best = self.incumbent[1]

    def learn(self, trials: Sequence[Trial]) -> None:
        """Take note of trials.

        Raises
        ------
        BoundError
            A measured cost is lower than its lower bound, which is therefore wrong.
        """
        for trial in trials:
            bound = self.candidates.bounds[trial.row]
            if trial.outcome.cost < bound:
                raise BoundError(
                    f"{self.candidates.template.name}: {self.candidates.choice(trial.row)} costs "
                    f"{trial.outcome.cost:,.0f}, less than its lower bound {bound:,.0f}"
                )
        self.trials += trials
        self.explorer.learn(trials)

    def step(self, measure: Measure, most: int = BATCH) -> Sequence[Trial]:
        """Measure a batch of at most `most` choices; none if the search is complete."""
        rows = self.explorer.propose(most)
        if not rows:
            return ()
        limit = self.explorer.patience * self.explorer.best
        outcomes = measure([self.candidates.choice(row) for row in rows], limit)
        trials = [Trial(row, outcome) for row, outcome in zip(rows, outcomes, strict=True)]
        self.learn(trials)
        return trials

    @property
    def best(self) -> Trial | None:
        """The trial of the lowest cost, the first of equal ones; None if nothing was measured."""
        measured = [trial for trial in self.trials if np.isfinite(trial.outcome.cost)]
        return min(measured, key=lambda trial: trial.outcome.cost, default=None)

    @property
    def choice(self) -> Choice | None:
        """The choice of the lowest cost, the incumbent included; None if nothing was measured."""
        best = self.best
        if self.incumbent is not None and (best is None or best.outcome.cost >= self.incumbent[1]):
            return self.incumbent[0]
        return None if best is None else self.candidates.choice(best.row)

    def certificate(self) -> Certificate:
        """What the trials prove; something must have been measured."""
        best, bounds = self.explorer.best, self.candidates.bounds
        rest, listed = bounds[~self.explorer.seen], self.candidates.listed
        return Certificate(
            size=len(self.candidates),
            measured=int(self.explorer.seen.sum()),
            pruned=int((rest >= best).sum()),
            best=float(best),
            bound=float(min(best, rest.min(initial=np.inf))) if listed else 0.0,
            listed=listed,
        )


def settings_text(choice: Mapping[str, int | str]) -> str:
    """A choice on one line."""
    return " ".join(f"{knob}={setting}" for knob, setting in choice.items())

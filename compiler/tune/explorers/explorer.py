"""The interface of explorers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tandem.compiler.plan.schedule_template import ScheduleTemplate
from tandem.compiler.plan.space import Bools, Floats
from tandem.compiler.te.knobs import Choice, Setting
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.trial import Trial


class ChoiceTable(Protocol):
    """Choices with a row each: all of a space, or those that were drawn so far."""

    @property
    def template(self) -> ScheduleTemplate[Any, Any]:
        """What schedules the choices."""

    @property
    def space(self) -> str:
        """The name of the space that the choices are of."""

    @property
    def listed(self) -> bool:
        """Whether all choices of the space have a row."""

    @property
    def bounds(self) -> Floats:
        """A lower bound of each choice's cost, in the measured unit; 0 where none is known."""

    def __len__(self) -> int: ...

    def choice(self, row: int) -> dict[str, Setting]:
        """The choice of a row."""

    def row(self, choice: Choice) -> int | None:
        """The row of a choice; None if it has none."""


class Search(Protocol):
    """What proposes rows of a table of choices."""

    best: float
    """The lowest measured cost."""

    @property
    def patience(self) -> float:
        """Measurements are abandoned at this multiple of the best cost."""

    @property
    def seen(self) -> Bools:
        """The rows with a trial."""

    def propose(self, count: int) -> Sequence[int]:
        """At most `count` different rows without a trial; none if the search is complete."""

    def learn(self, trials: Sequence[Trial]) -> None:
        """Take note of trials."""


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

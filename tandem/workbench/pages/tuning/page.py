"""The content of a tuning run's HTML report, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite

from tandem.hw.config import HardwareConfig


@dataclass(frozen=True, slots=True)
class Point:
    """A measured choice.

    Attributes
    ----------
    estimate, cost
        In cycles: as the compiler estimates it, and as measured.
    choice
        The settings as text.
    """

    estimate: float
    cost: float
    choice: str


@dataclass(frozen=True, slots=True)
class Search:
    """The trials of one explorer on a task.

    Attributes
    ----------
    explorer
        Its name, with the seed if it searched with several.
    costs
        Of all trials in their order; infinite for trials without a cost.
    """

    explorer: str
    costs: tuple[float, ...]

    def best(self) -> Iterator[tuple[int, float]]:
        """The number of each trial from the first that was measured, and the best cost so far."""
        best = inf
        for number, cost in enumerate(self.costs, 1):
            best = min(best, cost)
            if isfinite(best):
                yield number, best


@dataclass(frozen=True, slots=True)
class FeatureGain:
    """A feature of choices, and its part of what the splits of a model of boosted trees gain."""

    feature: str
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """A task with its trials.

    Attributes
    ----------
    workload
        The workload as text.
    trials
        The trials of this run.
    default, best, bound
        In cycles; infinite where nothing was measured.
    size, measured, pruned
        Choices of the space that fit, and how many of them are known not to be better.
    choice
        The best choice as text; empty if nothing was measured.
    searches
        This run's explorer first.
    """

    name: str
    count: int
    workload: str
    trials: int
    default: float
    best: float
    bound: float
    certified: bool
    size: int
    measured: int
    pruned: int
    choice: str
    searches: tuple[Search, ...]
    points: tuple[Point, ...]

    @property
    def gap(self) -> float | None:
        """The best cost beyond the bound, as a part of the bound; None if either is unknown."""
        return self._beyond(self.best)

    @property
    def default_gap(self) -> float | None:
        """The default choice's cost beyond the bound, in the same way."""
        return self._beyond(self.default)

    @property
    def gain(self) -> float | None:
        """How many times as fast the best choice is as the default; None if either is unknown."""
        return self.default / self.best if isfinite(self.default) and self.best else None

    def _beyond(self, cost: float) -> float | None:
        return cost / self.bound - 1 if isfinite(cost) and 0 < self.bound < inf else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPage:
    """The content of a tuning run's HTML report.

    Attributes
    ----------
    title
        The model, or the names of the layers.
    memory
        The memory model, as the command line names it.
    explorer
        Of this run.
    default, best
        Cycles of the network, or of all layers.
    command, versions
        What made the page.
    gains
        The features that matter most to a model of all measured choices, the greatest first; none
        where too few were measured.
    """

    title: str
    config: HardwareConfig
    memory: str
    explorer: str
    tasks: tuple[TaskReport, ...]
    default: int | None
    best: int | None
    seconds: float
    command: str
    versions: tuple[tuple[str, str], ...] = ()
    gains: tuple[FeatureGain, ...] = ()

    @property
    def gain(self) -> float | None:
        """How many times as fast the network has become."""
        return self.default / self.best if self.default and self.best else None

    @property
    def trials(self) -> int:
        """The trials of all tasks."""
        return sum(task.trials for task in self.tasks)

    @property
    def certified(self) -> int:
        """The number of tasks whose best choice is certified."""
        return sum(task.certified for task in self.tasks)

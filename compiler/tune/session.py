"""Tuning of several tasks with one budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome, Trial
from tandem.compiler.tune.tuner import BATCH, Certificate, Measure, Tuning

FIRST = 4 * BATCH
"""The first trials of each task, without a limit of trials."""


@dataclass
class TaskTuning:
    """A task, its search and how to measure it.

    Attributes
    ----------
    default
        The outcome of the task's default choice.
    unlucky
        Batches since the last that found something better.
    """

    task: Task
    tuning: Tuning
    measure: Measure
    default: Outcome
    unlucky: int = 0
    complete: bool = False

    @property
    def certificate(self) -> Certificate:
        """What is known of the task's space."""
        return self.tuning.certificate()

    @property
    def prospect(self) -> float:
        """What another batch is expected to gain in the network, in the unit of costs: what is left
        to the bound, less the longer nothing was found."""
        certificate = self.certificate
        left = self.task.count * (certificate.best - certificate.bound)
        return float(left * 0.5**self.unlucky)

    def step(self, most: int) -> Sequence[Trial]:
        """Measure a batch."""
        before = self.tuning.explorer.best
        trials = self.tuning.step(self.measure, most)
        self.complete = not trials
        self.unlucky = 0 if self.tuning.explorer.best < before else self.unlucky + 1
        return trials


@dataclass(frozen=True, slots=True)
class Budget:
    """When tuning ends; without limits, when every search is complete.

    Attributes
    ----------
    trials
        Trials for each task on average.
    expired
        Whether the time is over.
    """

    trials: int | None
    expired: Callable[[], bool]


def tune_tasks(
    tasks: Sequence[TaskTuning], budget: Budget, report: Callable[[TaskTuning], None]
) -> None:
    """Spend the budget on tasks: the first batches on each, then on what may gain most.

    Every task gets a quarter of its share before any gets more, `FIRST` trials without a limit, as
    in Ansor (Zheng et al., OSDI 2020, section 6); a task at its bound gets no more than that.

    Parameters
    ----------
    report
        Called after each batch.
    """
    total = None if budget.trials is None else budget.trials * len(tasks)
    first = FIRST if budget.trials is None else max(1, ceil(budget.trials / 4))
    spent = 0

    def spend(task: TaskTuning, most: int) -> None:
        nonlocal spent
        spent += len(task.step(most))
        report(task)

    for task in tasks:
        begun = spent
        while not task.complete and not budget.expired():
            most = min(BATCH, first - (spent - begun))
            if most <= 0:
                break
            spend(task, most)
    while not budget.expired():
        left = BATCH if total is None else min(BATCH, total - spent)
        open_ = [task for task in tasks if not task.complete and task.prospect > 0]
        if left <= 0 or not open_:
            break
        spend(max(open_, key=lambda task: task.prospect), left)

"""What tuning came to, and its page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from tandem.compiler.machines.accelerator.costs import FEATURE_NAMES
from tandem.compiler.tune.boosted_trees import BoostedTrees, Measured
from tandem.compiler.tune.recorded import by_identity
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import Options
from tandem.compiler.tune.transfer import LEAST
from tandem.workbench.devices import Accelerator
from tandem.workbench.pages.tuning.page import FeatureGain, TuningPage
from tandem.workbench.pages.tuning.task_reports import measured, task_report
from tandem.workbench.tuning import TunedTasks

_LEAST_MEASURED = 16
"""The fewest measured choices of which a model says what matters."""
_SHOWN = 15
"""Features on the page, at most."""
_TOOLS = ("tandem-workbench", "numpy", "xgboost-cpu" if sys.platform == "linux" else "xgboost")


@dataclass(frozen=True, slots=True)
class TuningRun:
    """A run of the tuner on an accelerator, with all that its page shows.

    Attributes
    ----------
    title
        The model, or the names of the layers.
    memory
        The name of the memory model.
    known
        All records, this run's included.
    seconds
        Wall-clock time of the run.
    """

    title: str
    memory: str
    tuned: TunedTasks
    accelerator: Accelerator
    options: Options
    known: Sequence[Record]
    seconds: float

    def page(self, command: str) -> TuningPage:
        """The page of the run; `command` is what makes it, as text."""
        by_task = by_identity(self.known)
        reports, learned = [], []
        for task in self.tuned.tasks:
            key = self.accelerator.identity(task.task).key()
            records = by_task.get(key, ())
            reports.append(task_report(task, records, self.options.explorer, self.options.seed))
            learned.append(measured(task, records))
        return TuningPage(
            title=self.title,
            config=self.accelerator.config,
            memory=self.memory,
            explorer=self.options.explorer,
            tasks=tuple(reports),
            default=_cycles(self.tuned.default),
            best=_cycles(self.tuned.best),
            seconds=self.seconds,
            command=command,
            versions=tuple((tool, version(tool)) for tool in _TOOLS),
            gains=_gains(learned),
        )


def _gains(groups: Sequence[Measured]) -> tuple[FeatureGain, ...]:
    """The features that a model of the measured choices gains by."""
    large = [group for group in groups if len(group.costs) >= LEAST]
    if sum(len(group.costs) for group in large) < _LEAST_MEASURED:
        return ()
    model = BoostedTrees(0)
    model.train(large)
    names = FEATURE_NAMES
    gains = model.gains(len(names))
    order = np.argsort(-gains, kind="stable")[:_SHOWN]
    return tuple(FeatureGain(names[at], float(gains[at])) for at in order if gains[at] > 0)


def _cycles(total: float | None) -> int | None:
    return None if total is None else int(total)

"""What tuning came to, and its page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from tandem.compiler.tune.recorded import by_identity
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import Options
from tandem.workbench.devices import Accelerator
from tandem.workbench.pages.tuning.page import TuningPage
from tandem.workbench.pages.tuning.task_reports import task_report
from tandem.workbench.tuning import TunedTasks

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
        reports = []
        for task in self.tuned.tasks:
            key = self.accelerator.identity(task.task).key()
            records = by_task.get(key, ())
            reports.append(task_report(task, records, self.options.explorer, self.options.seed))
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
        )


def _cycles(total: float | None) -> int | None:
    return None if total is None else int(total)

"""`tandem tune --report`: the page of a run, as a file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tandem.compiler.tune.recorded import by_identity
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.run import Options
from tandem.scripts.page.write import write_page
from tandem.scripts.tune.page.page import TuningPage
from tandem.scripts.tune.page.task_reports import task_report
from tandem.workbench.devices import Accelerator
from tandem.workbench.tuning import TunedTasks

_TOOLS = ("tandem-workbench", "numpy", "xgboost-cpu" if sys.platform == "linux" else "xgboost")


def _cycles(total: float | None) -> int | None:
    return None if total is None else int(total)


def write_report(
    path: Path,
    title: str,
    memory: str,
    tuned: TunedTasks,
    accelerator: Accelerator,
    options: Options,
    known: Sequence[Record],
    seconds: float,
) -> None:
    """Write the page of a run.

    Parameters
    ----------
    title
        The model, or the names of the layers.
    memory
        As the command line names it.
    known
        All records, this run's included.
    seconds
        Wall-clock time of the run.

    Raises
    ------
    CommandError, OSError
        As `scripts.page.write.check_page`.
    """
    by_task = by_identity(known)
    reports = []
    for one in tuned.tasks:
        key = accelerator.identity(one.task).key()
        reports.append(task_report(one, by_task.get(key, ()), options.explorer, options.seed))
    page = TuningPage(
        title=title,
        config=accelerator.config,
        memory=memory,
        explorer=options.explorer,
        tasks=tuple(reports),
        default=_cycles(tuned.default),
        best=_cycles(tuned.best),
        seconds=seconds,
        command=shlex.join(("tandem", *sys.argv[1:])),
        versions=tuple((tool, version(tool)) for tool in _TOOLS),
    )

    def rendered() -> str:
        # Imported here, because the libraries that draw are large and optional.
        from tandem.scripts.tune.page.render import render

        return render(page)

    write_page(path, rendered)

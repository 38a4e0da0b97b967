"""Progress of a command, shown on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.status import Status

from sim.engine import Progress


@contextmanager
def show_progress(quiet: bool = False) -> Iterator[Progress | None]:
    """Yield a callback that shows the number of finished steps on standard error.

    Yield None, and show nothing, if `quiet` or if standard error is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    start = time.perf_counter()
    with Status("starting", console=Console(stderr=True)) as status:

        def show(done: int) -> None:
            speed = done / max(time.perf_counter() - start, 1e-9)
            status.update(f"{done:,} steps, {speed:,.0f} a second")

        yield show


@contextmanager
def show_activity(what: str, quiet: bool = False) -> Iterator[Callable[[str], None] | None]:
    """Yield a callback that shows, after `what`, the current step and the elapsed time.

    Yield None, and show nothing, if `quiet` or if standard error is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what)

        def show(step: str) -> None:
            progress.update(task, description=f"{what}: {step}")

        yield show

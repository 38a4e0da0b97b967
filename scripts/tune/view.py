"""Tuning as it goes, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tandem.compiler.tune.run import Options, Report
from tandem.compiler.tune.session import TaskTuning
from tandem.scripts.tune.rows import table

_ROWS = 20
"""Tasks that are shown at most: the last that changed."""


@contextmanager
def show_tuning(options: Options, quiet: bool) -> Iterator[Report]:
    """Yield a callback that shows tasks on standard error; it shows nothing if `quiet`, or if
    standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda tasks: None
        return
    started = monotonic()
    console = Console(stderr=True, highlight=False, markup=False)
    with Live(console=console, transient=True, refresh_per_second=4) as live:

        def show(tasks: Sequence[TaskTuning]) -> None:
            live.update(Group(table(tasks[-_ROWS:]), Text(_progress(tasks, options, started))))

        yield show


def _progress(tasks: Sequence[TaskTuning], options: Options, started: float) -> str:
    trials, seconds = sum(len(done.tuning.trials) for done in tasks), monotonic() - started
    text = f"{trials:,} trials, {trials / max(seconds, 1e-9):.0f} a second, {seconds:.0f} s"
    if options.seconds is not None:
        return f"{text} of {options.seconds:g} s"
    if options.trials is not None and trials:
        left = seconds * max(0, options.trials * len(tasks) / trials - 1)
        return f"{text}, about {left:.0f} s left"
    return text

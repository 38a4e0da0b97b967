"""Progress of a command, shown on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.status import Status

from tandem.base.cache import default_cache
from tandem.base.jit import reported
from tandem.sim.engine import Progress


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

        with reported(lambda function: show(f"compiling {function}")):
            yield show


@contextmanager
def compilation_told() -> Iterator[None]:
    """A context in which one line on standard error says that simulators are compiled, if they are:
    that takes seconds, and their machine code is kept."""
    lines: list[str] = []

    def tell(function: str) -> None:
        if not lines:
            lines.append(_compilation_line())
            print(*lines, file=sys.stderr)

    with reported(tell):
        yield


def _compilation_line() -> str:
    root = default_cache()
    with suppress(OSError):
        root.mkdir(parents=True, exist_ok=True)
    if os.access(root, os.W_OK | os.X_OK):
        return f"compiling the simulator, once: its machine code is kept in {root}"
    return (
        f"compiling the simulator: its machine code cannot be kept in {root}; "
        "name another folder in the environment's TANDEM_CACHE"
    )

"""Progress of long calls: a callback, or a bar on a terminal's standard error or in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tandem.workbench.arguments import expect

Callback: TypeAlias = Callable[[int, int, str], object]
"""Called with the steps that are done, the number of all steps (0 if it is not known), and what is
done now."""
Progress: TypeAlias = Callback | Literal[True] | None
"""None for nothing, True for a bar of Tandem's own, or a callback."""


@dataclass(slots=True)
class Steps:
    """The steps of a call, as far as they are done."""

    callback: Callback
    done: int = field(default=0)
    total: int = field(default=0)

    def say(self, text: str) -> None:
        """Report what is done now."""
        self.callback(self.done, self.total, text)

    def at(self, done: int, total: int, text: str) -> None:
        """Report how much is done, and what is done now."""
        self.done, self.total = done, total
        self.say(text)


@contextmanager
def steps_of(what: str, progress: Progress) -> Iterator[Steps]:
    """A context with the steps of a call that is called `what`.

    Raises
    ------
    ArgumentTypeError
        `progress` is none of what `Progress` allows.
    """
    if progress is None:
        yield Steps(lambda done, total, text: None)
    elif progress is True:
        with _bar(what) as callback:
            yield Steps(callback)
    elif callable(progress):
        yield Steps(progress)
    else:
        expect("progress", progress, "None, True, or a callback of (done, total, text)")


@contextmanager
def _bar(what: str) -> Iterator[Callback]:
    # Imported here: Rich is for those who want a bar.
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from tandem.base.jit import reported

    console, notebook = Console(stderr=True), Console()
    if notebook.is_jupyter:
        console = notebook
    elif not console.is_terminal:
        yield lambda done, total, text: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total or None, description=f"{what}: {text}")

        with reported(lambda function: show(0, 0, f"compiling {function}")):
            yield show

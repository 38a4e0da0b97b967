"""What a terminal shows while tasks are tuned."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from tandem.compiler.tune.run import Options
from tandem.compiler.tune.session import TaskTuning
from tandem.scripts.tune import view
from tandem.scripts.tune.view import show_tuning


class Shown:
    """In the place of a terminal: keeps what it was told to show."""

    def __init__(self, **options: Any) -> None:
        self.options, self.texts = options, list[str]()

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def update(self, renderable: Any) -> None:
        """Note the text of what is shown."""
        console = Console(file=io.StringIO(), width=120)
        console.print(renderable)
        self.texts.append(cast(io.StringIO, console.file).getvalue())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[Shown]:
    """Terminals that were made; time is 100 at first, then 104."""
    made: list[Shown] = []

    def new(**options: Any) -> Shown:
        made.append(Shown(**options))
        return made[-1]

    times = iter((100.0, 104.0))
    monkeypatch.setattr(view, "Live", new)
    monkeypatch.setattr(view, "monotonic", lambda: next(times))
    monkeypatch.setattr(view, "table", lambda tasks: " ".join(f"row {task.name}" for task in tasks))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    return made


def tasks(*trials: int) -> list[TaskTuning]:
    """Tasks with as many trials, named by their positions."""
    made = [
        SimpleNamespace(name=str(at), tuning=SimpleNamespace(trials=[None] * count))
        for at, count in enumerate(trials)
    ]
    return cast(list[TaskTuning], made)


@pytest.mark.parametrize(
    ("trials", "seconds", "found"),
    [
        # Half of twice eight trials took four seconds.
        (8, None, "8 trials, 2 a second, 4 s, about 4 s left"),
        (3, None, "8 trials, 2 a second, 4 s, about 0 s left"),
        (None, None, "8 trials, 2 a second, 4 s"),
        (8, 60.0, "8 trials, 2 a second, 4 s of 60 s"),
    ],
)
def test_rows_and_below_them_the_progress(
    terminal: list[Shown], trials: int | None, seconds: float | None, found: str
) -> None:
    with show_tuning(Options("sketches", trials, seconds, 0), quiet=False) as report:
        report(tasks(3, 5))
    (only,) = terminal
    assert only.options["transient"] is True
    (text,) = only.texts
    rows, progress = text.splitlines()
    assert rows.rstrip() == "row 0 row 1"
    assert progress.rstrip() == found


def test_nothing_was_tried(terminal: list[Shown]) -> None:
    with show_tuning(Options("sketches", 8, None, 0), quiet=False) as report:
        report(tasks(0))
    assert terminal[0].texts[0].splitlines()[-1].rstrip() == "0 trials, 0 a second, 4 s"


def test_the_last_twenty_rows(terminal: list[Shown]) -> None:
    with show_tuning(Options("sketches", None, None, 0), quiet=False) as report:
        report(tasks(*[1] * 25))
    shown = " ".join(terminal[0].texts[0].splitlines()[:-1])
    assert [int(name) for name in shown.split() if name != "row"] == [*range(5, 25)]


@pytest.mark.parametrize(("quiet", "tty"), [(True, True), (False, False)])
def test_where_nothing_is_shown(
    terminal: list[Shown], monkeypatch: pytest.MonkeyPatch, quiet: bool, tty: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: tty)
    with show_tuning(Options("sketches", 8, None, 0), quiet=quiet) as report:
        report(tasks(1))
    assert terminal == []

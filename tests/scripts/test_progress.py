"""Progress on a terminal, and silence where there is none."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tandem.scripts.progress import compilation_told, show_activity, show_progress
from tests.support.base.written_modules import written

_NUMBERS = count()


class Terminal(io.StringIO):
    """Standard error, of a terminal or not."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def replaced(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> Terminal:
    # In the test itself: pytest captures anew for each of its parts.
    found = Terminal(terminal)
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return found


@pytest.fixture
def kept_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compile_one(folder: Path) -> str:
    """Compile a function that nobody has compiled before; returns its name."""
    name = f"fresh_{next(_NUMBERS)}"
    text = f"@compiled\ndef {name}(a: int) -> int:\n    return a + {next(_NUMBERS)}\n"
    module: Any = written(folder, text)
    getattr(module, name)(1)
    return name


SHOWS: list[Callable[[bool], AbstractContextManager[Any]]] = [
    show_progress,
    lambda quiet: show_activity("searching", quiet),
]


@pytest.mark.parametrize("show", SHOWS)
@pytest.mark.parametrize(("shown", "quiet"), [(True, True), (False, False), (False, True)])
def test_nothing_is_shown(
    show: Callable[[bool], AbstractContextManager[Any]],
    shown: bool,
    quiet: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = replaced(monkeypatch, shown)
    with show(quiet) as told:
        assert told is None
    assert output.getvalue() == ""


def test_steps_and_their_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = replaced(monkeypatch, True)
    clock = iter((10.0, 12.0))
    monkeypatch.setattr("tandem.scripts.progress.time.perf_counter", lambda: next(clock, 12.0))
    with show_progress() as told:
        assert told is not None
        told(3000)
    assert "3,000 steps, 1,500 a second" in terminal.getvalue()


def test_activity(kept_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = replaced(monkeypatch, True)
    with show_activity("searching") as told:
        assert told is not None
        told("layer 3 of 7")
    assert "searching: layer 3 of 7" in terminal.getvalue()
    with show_activity("tuning"):
        name = compile_one(tmp_path)
    assert f"tuning: compiling {name}" in terminal.getvalue()


def test_one_line_says_that_simulators_are_compiled(
    kept_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = replaced(monkeypatch, False)
    with compilation_told():
        assert output.getvalue() == ""
        compile_one(tmp_path)
        compile_one(tmp_path)
    line = f"compiling the simulator, once: its machine code is kept in {kept_in}\n"
    assert output.getvalue() == line
    assert kept_in.is_dir()
    compile_one(tmp_path)
    assert output.getvalue() == line, "nobody is told outside"


def test_a_cache_that_cannot_be_written(
    kept_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = replaced(monkeypatch, False)
    monkeypatch.setattr("tandem.scripts.progress.os.access", lambda path, mode: False)
    with compilation_told():
        compile_one(tmp_path)
    assert output.getvalue() == (
        f"compiling the simulator: its machine code cannot be kept in {kept_in}; name another "
        "folder in the environment's TANDEM_CACHE\n"
    )

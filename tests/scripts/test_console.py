"""`scripts.console`: one line of error, the exit code, and interrupts that Python drops."""

from __future__ import annotations

import inspect
import json
import signal
import sys
import warnings
from importlib import import_module
from time import sleep

import pytest
import typer

from tandem.base.errors import CacheError, Error
from tandem.base.jit import CompilationError
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.scripts.console import errors_in_one_line, print_json, repeated_interrupts
from tandem.sim.errors import EngineError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (EngineError("no such engine"), "error: no such engine"),
        (CacheError("no such folder"), "error: no such folder"),
        (CompilationError("no such loop"), "error: no such loop"),
        (
            ProgramError(Fault.OPCODE, 3, "opcode 7"),
            "error: instruction 3: opcode 7 [OPCODE]",
        ),
        (FileNotFoundError(2, "No such file", "a.bin"), "error: a.bin: No such file"),
        (OSError("odd"), "error: odd"),
        (EngineError("two\n  lines"), "error: two lines"),
        (MemoryError("1 EiB"), "error: out of memory: 1 EiB"),
        (ValueError("oh"), "error: internal error: ValueError: oh (--debug shows where)"),
    ],
)
def test_errors(error: Exception, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught, errors_in_one_line(debug=False):
        raise error
    assert caught.value.exit_code == 1
    assert capsys.readouterr() == ("", line + "\n")


@pytest.mark.parametrize(
    "floor", ["base", "base.jit", "hw", "sim", "runtime", "compiler", "workbench", "scripts"]
)
def test_no_error_of_a_floor_is_an_internal_one(floor: str) -> None:
    module = import_module(f"tandem.{floor}.errors")
    errors = [
        value
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, BaseException)
    ]
    assert errors
    assert all(issubclass(error, Error) for error in errors)


def test_interruption(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught, errors_in_one_line(debug=False):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_what_was_half_done_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), errors_in_one_line(debug=False):
        raise KeyboardInterrupt
    warnings.warn("created but never used", stacklevel=1)
    assert capsys.readouterr().err == "error: interrupted\n"


def test_an_output_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with errors_in_one_line(debug=False):
        print_json({})


def test_debug_shows_where(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), errors_in_one_line(debug=True):
        raise EngineError("no such engine")
    text = capsys.readouterr().err
    assert text.startswith("Traceback")
    assert text.endswith("\nerror: no such engine\n")
    assert "test_debug_shows_where" in text


@pytest.mark.parametrize("error", [typer.Exit(0), typer.BadParameter("x"), BrokenPipeError()])
def test_what_is_not_ours_passes(error: Exception) -> None:
    with pytest.raises(type(error)), errors_in_one_line(debug=False):
        raise error


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"cycles": None, "name": "ü"})
    assert json.loads(capsys.readouterr().out) == {"cycles": None, "name": "ü"}


class Interrupted:
    """An object whose finaliser raises KeyboardInterrupt."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def discard_interrupting_object() -> None:
    with repeated_interrupts():
        made = Interrupted()
        del made
        sleep(60)


def test_an_interrupt_in_a_finaliser_is_raised_again() -> None:
    with pytest.raises(KeyboardInterrupt):
        discard_interrupting_object()


def test_an_interrupt_that_is_dropped_twice_comes_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        discard_two_interrupting_objects()
    # A second one would come now.
    sleep(0.1)


def discard_two_interrupting_objects() -> None:
    with repeated_interrupts():
        made = [Interrupted(), Interrupted()]
        made.clear()
        sleep(60)


class Broken:
    def __del__(self) -> None:
        raise ValueError("something else")


def test_other_errors_reach_the_previous_hook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: seen.append(dropped.exc_type))
    hook = sys.unraisablehook
    with repeated_interrupts():
        made = Broken()
        del made
    assert seen == [ValueError]
    assert sys.unraisablehook is hook

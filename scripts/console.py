"""The end of a command: its result on standard output, or one error line, and the exit code."""

from __future__ import annotations

import json
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Timer, main_thread

import typer

from tandem.base.errors import Error
from tandem.scripts.progress import compilation_told
from tandem.scripts.signals import interruptions_in_one_line

FAILED = 1
_LONGEST = 2000
"""The maximum number of characters of an error: names in models may have any length."""
_REPEAT_SECONDS = 0.02


@contextmanager
def errors_in_one_line(debug: bool) -> Iterator[None]:
    """Report any exception raised inside as one line `error: ...`, and exit with a code.

    With `debug`, the traceback comes first. Typer's own exceptions (wrong usage) and a closed pipe
    pass through.
    """
    try:
        with (
            interruptions_in_one_line(),
            _said_if_interrupted(debug),
            repeated_interrupts(),
            compilation_told(),
        ):
            yield
        # Flush here, so that a write error is reported like any other error.
        if sys.stdout is not None:  # None if the caller closed it
            sys.stdout.flush()
    except (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError):
        raise
    except Error as error:
        _fail(str(error), FAILED, debug)
    except OSError as error:
        _fail(_system_error(error), FAILED, debug)
    except MemoryError as error:
        _fail(f"out of memory: {error}", FAILED, debug)
    except Exception as error:
        hint = "" if debug else " (--debug shows where)"
        _fail(f"internal error: {type(error).__name__}: {error}{hint}", FAILED, debug)


@contextmanager
def _said_if_interrupted(debug: bool) -> Iterator[None]:
    """Print the traceback of an interruption with `debug`; otherwise, silence later warnings."""
    try:
        yield
    except KeyboardInterrupt:
        _print_traceback(debug)
        raise


def print_json(result: Mapping[str, object]) -> None:
    """Print the one JSON object of a command."""
    typer.echo(json.dumps(result, indent=2))


@contextmanager
def repeated_interrupts() -> Iterator[None]:
    """Context in which a KeyboardInterrupt that Python drops is raised again a moment later.

    Python raises KeyboardInterrupt wherever the main thread is, and drops the exception in
    finalisers and in callbacks of native code, which cannot propagate exceptions.
    """
    before = sys.unraisablehook
    timers: list[Timer] = []

    def interrupt_again(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        # One that is dropped in several callbacks, one inside another, comes once.
        if any(timer.is_alive() for timer in timers):
            return
        # A signal also wakes the main thread if it sleeps.
        timer = Timer(_REPEAT_SECONDS, signal.pthread_kill, (main_thread().ident, signal.SIGINT))
        timer.daemon = True
        timers.append(timer)
        timer.start()

    sys.unraisablehook = interrupt_again
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in timers:
            timer.cancel()


def _system_error(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _print_traceback(debug: bool) -> None:
    if debug:
        traceback.print_exc()
    else:
        # Unfinished objects may warn when they are destroyed (Amaranth's designs do).
        warnings.simplefilter("ignore")


def _fail(message: str, code: int, debug: bool) -> None:
    _print_traceback(debug)
    line = " ".join(message.split())
    if len(line) > _LONGEST:
        line = f"{line[:_LONGEST]}... ({len(line):,} characters)"
    print(f"error: {line}", file=sys.stderr)
    raise typer.Exit(code) from None

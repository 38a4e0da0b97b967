"""The signals that end a command: SIGTERM and SIGHUP interrupt it as Ctrl-C does.

Whatever is interrupted removes its unfinished files and ends its processes on the way out.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from types import FrameType

import typer

INTERRUPTED = 130
"""128 + SIGINT, as shells report a program that Ctrl-C ended."""
TERMINATED = 143
"""128 + SIGTERM."""
HUNG_UP = 129
"""128 + SIGHUP: the terminal has gone."""

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Termination:
    """The handler of SIGTERM and SIGHUP; `status` is the exit status of an interruption."""

    def __init__(self) -> None:
        self.status = INTERRUPTED

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.status = 128 + number
        # Shells start background processes with SIGINT ignored.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        # What waits for the end of native code, or of the start of a process, handles SIGINT.
        signal.raise_signal(signal.SIGINT)


@contextmanager
def terminable() -> Iterator[Termination]:
    """Context in which SIGTERM and SIGHUP raise KeyboardInterrupt; yields their handler.

    A signal that is ignored, as `nohup` does it, or has a handler keeps it. On other threads than
    the main one the context changes nothing.
    """
    for before in map(signal.getsignal, _SIGNALS):
        if isinstance(before, Termination):
            yield before
            return
    handler = Termination()
    replaced = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    if current_thread() is not main_thread():
        replaced = []
    for number in replaced:
        signal.signal(number, handler)
    try:
        yield handler
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Context in which the signals end the process at once, with the same line and status.

    For imports, which leave nothing to remove: libraries in C may crash when KeyboardInterrupt is
    raised in the middle of their import.
    """

    def end(number: int, frame: FrameType | None) -> None:
        with suppress(OSError):
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, _line(128 + number).encode())
        os._exit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_SIGNALS)}
    ours = {
        number: handler
        for number, handler in before.items()
        if handler in (signal.default_int_handler, signal.SIG_DFL)
        or isinstance(handler, Termination)
    }
    if current_thread() is not main_thread():
        ours = {}
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


def _line(status: int) -> str:
    return f"error: {'interrupted' if status == INTERRUPTED else 'terminated'}\n"


@contextmanager
def interruptions_in_one_line() -> Iterator[None]:
    """Report KeyboardInterrupt as one line, and exit with the signal's status."""
    with terminable() as termination:
        try:
            yield
        except KeyboardInterrupt:
            # The terminal may have gone.
            with suppress(OSError):
                print(_line(termination.status), end="", file=sys.stderr, flush=True)
            # Python notes a KeyboardInterrupt that leaves a text run by `exec`, as dataclasses use,
            # and would end by SIGINT whatever the exit status is. The next text clears the note.
            exec("")
            raise typer.Exit(termination.status) from None

"""The signals that end a command: Ctrl-C, and SIGTERM, which interrupts the command as Ctrl-C does.

Whatever is interrupted removes its unfinished files and ends its processes on the way out.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

import typer

INTERRUPTED = 130
"""128 + SIGINT, as shells report a program that Ctrl-C ended."""
TERMINATED = 143
"""128 + SIGTERM."""


class Termination:
    """The handler of SIGTERM; `asked` is whether the signal has come."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        # Shells start background processes with SIGINT ignored.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        # What waits for the end of native code, or of the start of a process, handles SIGINT.
        signal.raise_signal(signal.SIGINT)


@contextmanager
def terminable() -> Iterator[Termination]:
    """Context in which SIGTERM raises KeyboardInterrupt; yields the handler.

    On other threads than the main one, and where a handler is installed or the signal is ignored,
    the context changes nothing.
    """
    before = signal.getsignal(signal.SIGTERM)
    if isinstance(before, Termination):
        yield before
    elif before is not signal.SIG_DFL or current_thread() is not main_thread():
        yield Termination()
    else:
        handler = Termination()
        signal.signal(signal.SIGTERM, handler)
        try:
            yield handler
        finally:
            signal.signal(signal.SIGTERM, before)


@contextmanager
def interruptions_in_one_line() -> Iterator[None]:
    """Report KeyboardInterrupt as one line, and exit with the signal's status."""
    with terminable() as termination:
        try:
            yield
        except KeyboardInterrupt:
            said = "terminated" if termination.asked else "interrupted"
            print(f"error: {said}", file=sys.stderr)
            raise typer.Exit(TERMINATED if termination.asked else INTERRUPTED) from None

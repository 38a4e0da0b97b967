"""Ctrl-C that is not lost.

Python raises KeyboardInterrupt wherever the main thread is, and drops it where that is a finaliser
or what native code calls back: there an exception has nowhere to go.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, main_thread

__all__ = ["lasting_interrupts"]

_SECONDS = 0.02


@contextmanager
def lasting_interrupts() -> Iterator[None]:
    """Within, an interruption that was dropped comes again a moment later."""
    before = sys.unraisablehook
    timers: list[Timer] = []

    def again(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        # A signal, which wakes the thread up as well if it sleeps.
        timer = Timer(_SECONDS, signal.pthread_kill, (main_thread().ident, signal.SIGINT))
        timer.daemon = True
        timers.append(timer)
        timer.start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before
        for each in timers:
            each.cancel()

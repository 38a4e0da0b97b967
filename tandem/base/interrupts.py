"""Ctrl-C that waits for the end of what must not be left half done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Context in which Ctrl-C waits for the end; processes that are started inside ignore it."""
    if current_thread() is not main_thread():
        # Only the main thread is ever interrupted.
        yield
        return
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if held:
            signal.raise_signal(signal.SIGINT)

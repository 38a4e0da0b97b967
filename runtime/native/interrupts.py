"""Ctrl-C while native code runs: put off until it has returned.

Python runs a signal's handler between any two of its instructions on the main thread, and thus in
the middle of what native code calls back, where an exception has nowhere to go.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred_interrupt"]


@contextmanager
def deferred_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Within, an interruption only calls `stop`; behind, its handler runs as it would have.

    Where a handler of the user's stands in place of KeyboardInterrupt, `stop` is not called: the
    handler may want to go on. On other threads than the main one nothing happens, for they are not
    interrupted.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    seen: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append((number, frame))
        if handler is signal.default_int_handler:
            stop()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if seen:
        handler(*seen[-1])

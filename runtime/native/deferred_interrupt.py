"""Ctrl-C during native code: the signal handler is deferred until the code has returned.

Python runs signal handlers between any two bytecodes of the main thread, and so within callbacks of
native code, out of which no exception can propagate.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Within the context, SIGINT only calls `stop`; its handler runs at the end of the context.

    With a handler of the user's in place of Python's, `stop` is not called: that handler may
    continue the program. On threads other than the main one the context does nothing, for Python
    runs no signal handlers there.
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

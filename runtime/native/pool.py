"""Threads that run the parallel loops of native functions.

The calling thread runs iterations too. Scheduling is dynamic, in chunks of iterations, a few for
each thread: an idle thread takes the next chunk. Native code runs without Python's global lock.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue
from typing import Any

from runtime.errors import NativeCodeError

_TASK_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_LAUNCHER_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_CHUNKS = 4
"""Chunks for each thread: enough to balance threads of unequal speed."""


class ThreadPool:
    """A pool of `threads` threads, including the calling one; helpers start when first needed.

    A pool may be shared by functions and by threads that call them, and is a context manager.
    After `close`, functions still run, on the calling thread alone.
    """

    def __init__(self, threads: int) -> None:
        if threads < 1:
            raise NativeCodeError(f"a pool has at least the calling thread, not {threads} threads")
        self.threads = threads
        self._invitations: SimpleQueue[_Invitation | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._helpers = 0
        self._closed = False
        self._finalizer = weakref.finalize(self, _dismiss, self._invitations, threads - 1)

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads."""
        self._closed = True
        self._finalizer()

    def invite(self, work: Callable[[int], None], helpers: int) -> list[_Invitation]:
        """Offer `work` to up to `helpers` threads, each of which calls it with a number from 1."""
        if self._closed:
            return []
        helpers = min(helpers, self.threads - 1)
        with self._starting:
            while self._helpers < helpers:
                name = f"compiled-{self._helpers + 1}"
                arguments = (self._invitations,)
                threading.Thread(target=_help, args=arguments, name=name, daemon=True).start()
                self._helpers += 1
        invitations = [_Invitation(work, number + 1) for number in range(helpers)]
        for invitation in invitations:
            self._invitations.put(invitation)
        return invitations


class _Invitation:
    """Work offered to the helper threads, which one of them accepts or the caller withdraws."""

    def __init__(self, work: Callable[[int], None], worker: int) -> None:
        self._work = work
        self._worker = worker
        self._claim = threading.Lock()
        self._done: SimpleQueue[None] = SimpleQueue()

    def accept(self) -> None:
        """Do the work, unless it was withdrawn."""
        if self._claim.acquire(blocking=False):
            try:
                self._work(self._worker)
            finally:
                self._done.put(None)

    def withdraw_or_wait(self) -> None:
        """Withdraw the work, or wait until a helper that accepted it has done it."""
        if not self._claim.acquire(blocking=False):
            self._done.get()


def _help(invitations: SimpleQueue[_Invitation | None]) -> None:
    while (invitation := invitations.get()) is not None:
        invitation.accept()
        del invitation  # else its work stays alive until the next invitation


def _dismiss(invitations: SimpleQueue[_Invitation | None], helpers: int) -> None:
    for _ in range(helpers):
        invitations.put(None)


@dataclass
class LoopLauncher:
    """Launches the parallel loops of one call of a native function.

    Attributes
    ----------
    stopped
        Whether iterations that have not begun are skipped, in later loops too: the function
        returns soon, and its outputs are invalid.
    error
        The Python exception that stopped the loops, or None.
    """

    pool: ThreadPool
    stopped: bool = False
    error: BaseException | None = None

    def stop(self) -> None:
        """Skip the iterations that have not begun."""
        self.stopped = True

    def callback(self) -> Any:
        """A C function pointer, which has to stay alive as long as the native function runs."""
        return _LAUNCHER_TYPE(self._run)

    def _run(self, task: int, closure: int, iterations: int) -> None:
        # The closure lies on the native caller's stack: all threads must be done with it before
        # `_run` returns.
        invitations: list[_Invitation] = []
        size = max(1, iterations // (self.pool.threads * _CHUNKS))
        run, chunks = _TASK_TYPE(task), count()

        def work(worker: int) -> None:
            try:
                while not self.stopped and (begin := next(chunks) * size) < iterations:
                    run(closure, begin, min(begin + size, iterations), worker)
            except BaseException as error:
                self.stopped, self.error = True, error

        try:
            invitations = self.pool.invite(work, -(-iterations // size) - 1)
        except RuntimeError:
            pass  # no thread could be started: this thread runs all
        work(0)
        for invitation in invitations:
            invitation.withdraw_or_wait()

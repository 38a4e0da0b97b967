"""Threads that run the parallel loops of native functions.

The thread that called the function works too. Turns are dealt in chunks, a few for each thread, to
whoever asks next. Native code runs without Python's global lock.
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

__all__ = ["Launch", "ThreadPool"]

_TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_LAUNCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_CHUNKS = 4
"""Chunks for each thread: enough to even out threads of unequal speed."""


class ThreadPool:
    """`threads` threads, counting the one that calls. They start when they are first needed.

    A pool may be shared by functions and by threads that call them, and is a context manager.
    After `close`, functions still run, on the calling thread alone.
    """

    def __init__(self, threads: int) -> None:
        if threads < 1:
            raise NativeCodeError(f"a pool has at least the thread that calls, not {threads}")
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
        """Let the threads end."""
        self._closed = True
        self._finalizer()

    def invite(self, work: Callable[[int], None], helpers: int) -> list[_Invitation]:
        """Ask up to `helpers` threads to call `work`, each with a number from 1."""
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
        for each in invitations:
            self._invitations.put(each)
        return invitations


class _Invitation:
    """A piece of work that a helper takes up, or the one who asked takes back."""

    def __init__(self, work: Callable[[int], None], worker: int) -> None:
        self._work = work
        self._worker = worker
        self._claim = threading.Lock()
        self._done: SimpleQueue[None] = SimpleQueue()

    def accept(self) -> None:
        """Do the work, unless it was taken back."""
        if self._claim.acquire(blocking=False):
            try:
                self._work(self._worker)
            finally:
                self._done.put(None)

    def settle(self) -> None:
        """Take the work back, or wait until it is done."""
        if not self._claim.acquire(blocking=False):
            self._done.get()


def _help(invitations: SimpleQueue[_Invitation | None]) -> None:
    while (invitation := invitations.get()) is not None:
        invitation.accept()
        del invitation  # it would keep its work alive until the next one


def _dismiss(invitations: SimpleQueue[_Invitation | None], helpers: int) -> None:
    for _ in range(helpers):
        invitations.put(None)


@dataclass
class Launch:
    """The launcher of one call of a native function.

    Attributes
    ----------
    stopped
        Turns that have not begun are left out from now on, in later loops too: the function comes
        to its end soon, and its outputs are worth nothing.
    error
        What stopped it, if that was an exception of Python's.
    """

    pool: ThreadPool
    stopped: bool = False
    error: BaseException | None = None

    def stop(self) -> None:
        """Leave out what has not begun."""
        self.stopped = True

    def callback(self) -> Any:
        """A C function pointer, to be kept as long as the native function runs."""
        return _LAUNCH(self._run)

    def _run(self, task: int, closure: int, turns: int) -> None:
        # All threads must have left the closure, which lies on the native caller's stack, before
        # this returns.
        invitations: list[_Invitation] = []
        size = max(1, turns // (self.pool.threads * _CHUNKS))
        run, chunks = _TASK(task), count()

        def work(worker: int) -> None:
            try:
                while not self.stopped and (begin := next(chunks) * size) < turns:
                    run(closure, begin, min(begin + size, turns), worker)
            except BaseException as error:
                self.stopped, self.error = True, error

        try:
            invitations = self.pool.invite(work, -(-turns // size) - 1)
        except RuntimeError:
            pass  # no thread could be started; the caller does it all
        work(0)
        for each in invitations:
            each.settle()

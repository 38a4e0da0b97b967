"""Parallel loops of Python functions, on the native code of thread pools."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from typing import Any

from tandem.runtime.native.pool import LoopLauncher, ThreadPool
from tandem.runtime.native.pool_code import pool_code

_TASK = CFUNCTYPE(None, c_void_p, c_int64, c_int64, c_int64)
_LAUNCH = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_int64)


@contextmanager
def a_call(pool: ThreadPool) -> Iterator[LoopLauncher]:
    """A call of a native function, which launches loops within the context."""
    launcher = LoopLauncher(pool)
    launcher.begin()
    yield launcher
    launcher.end()


def launch(launcher: LoopLauncher, task: Callable[[int, int, int], None], iterations: int) -> None:
    """Run a loop whose chunks are calls of `task` with (begin, end, worker)."""

    def run(_: int, begin: int, end: int, worker: int) -> None:
        task(begin, end, worker)

    code = _TASK(run)
    launch_native(launcher, cast(code, c_void_p).value, 0, iterations)


def launch_native(launcher: LoopLauncher, task: int | None, closure: int, iterations: int) -> None:
    """Run a loop of a task at an address."""
    _LAUNCH(pool_code().launch)(launcher.address, task, closure, iterations)


def chunks(pool: ThreadPool, iterations: int) -> list[tuple[int, int, int]]:
    """The chunks (begin, end, worker) of a loop, sorted."""
    found: list[tuple[int, int, int]] = []
    with a_call(pool) as launcher:
        launch(launcher, lambda *chunk: found.append(chunk), iterations)
    return sorted(found)


def called_together(call: Callable[[Any], None], arguments: Sequence[Any]) -> None:
    """Call a function with each argument, in threads of their own, and wait for all."""
    callers = [threading.Thread(target=call, args=(argument,)) for argument in arguments]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()

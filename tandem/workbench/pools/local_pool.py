"""Processes of this machine that measure choices."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from threading import Thread
from types import TracebackType
from typing import Any, Generic

from tandem.base.interrupts import interrupts_held
from tandem.compiler.tune.pool import Failed, Job, R, measure_packed, packed
from tandem.compiler.tune.trial import Outcome

ATTEMPTS = 3
"""Processes that a choice may end before it has failed: some other cause may have ended one."""


def default_jobs() -> int:
    """The processor's cores that this process may use."""
    return len(os.sched_getaffinity(0))


class LocalPool(Generic[R]):
    """Processes that measure; with one job everything is measured in this process.

    A process that dies takes the others' unfinished measurements along: these are made again, one
    at a time, and a choice that ends its process every time has failed.
    """

    def __init__(self, job: Job[R], jobs: int, failed: Failed[Any] = Outcome.failed) -> None:
        self._job = job
        self._failed = failed
        self._jobs = jobs
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> LocalPool[R]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def measure(self, layer: Any, choices: Sequence[Any], limit: float) -> Iterator[tuple[int, R]]:
        """Measure choices; pairs of a position and an outcome, as the measurements end.

        Raises
        ------
        WorkerError
            With several jobs: the layer cannot be sent to a process, or not be imported there.
        """
        if self._jobs == 1:
            for at, choice in enumerate(choices):
                yield at, self._job(layer, choice, limit)
            return
        job = packed(self._job, layer)
        unfinished = list(range(len(choices)))
        try:
            for at, outcome in self._submitted(job, choices, unfinished, limit):
                unfinished.remove(at)
                yield at, outcome
        except BrokenProcessPool:
            self._stop()
            for at in unfinished:
                yield at, self._alone(job, choices[at], limit)

    def _submitted(
        self, job: bytes, choices: Sequence[Any], rows: Sequence[int], limit: float
    ) -> Iterator[tuple[int, R]]:
        futures = {self._submit(job, choices[at], limit): at for at in rows}
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _alone(self, job: bytes, choice: Any, limit: float) -> R:
        for _ in range(ATTEMPTS):
            try:
                return self._submit(job, choice, limit).result()
            except BrokenProcessPool:
                self._stop()
        return self._failed("the process that measured it died")

    def _submit(self, job: bytes, choice: Any, limit: float) -> Future[R]:
        executor = self._running()
        # This may start a process.
        # Ctrl-C goes to all processes of a terminal. A new one would report it before it can ignore
        # it, and one that is half started would be lost.
        with interrupts_held():
            return executor.submit(measure_packed, job, choice, limit)

    def _running(self) -> ProcessPoolExecutor:
        if self._executor is None:
            # Not forked: threads of this process, such as a progress display's, would be missing.
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(
                self._jobs, context, initializer=_initialise, initargs=(gc.get_threshold(),)
            )
        return self._executor

    def _stop(self) -> None:
        if self._executor is not None:
            for process in (self._executor._processes or {}).values():
                process.terminate()
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


def _initialise(collections: tuple[int, int, int]) -> None:
    """Prepare a process; its garbage collector has the thresholds of the one that starts it."""
    # Only the tuner is interrupted; it ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    gc.set_threshold(*collections)


def _end_with_parent() -> None:
    """End this process as soon as the tuner has ended, even if it was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "this process was started by the tuner"
    wait([parent.sentinel])
    os._exit(1)

"""Processes of this machine that measure choices."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any

from compiler.te.knobs import Choice
from compiler.tune.trial import Outcome
from scripts.cli import COLLECTIONS
from scripts.tune.pool import Job


def default_jobs() -> int:
    """The processor's cores that this process may use."""
    return len(os.sched_getaffinity(0))


class LocalPool:
    """Processes that measure; with one job everything is measured in this process.

    A process that dies takes the others' unfinished measurements along: these are made again, one
    at a time, and a choice that ends the process once more has failed.
    """

    def __init__(self, job: Job, jobs: int) -> None:
        self._job = job
        self._jobs = jobs
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def measure(
        self, layer: Any, choices: Sequence[Choice], limit: float
    ) -> Iterator[tuple[int, Outcome]]:
        """Measure choices; pairs of a position and an outcome, as the measurements end."""
        if self._jobs == 1:
            for at, choice in enumerate(choices):
                yield at, self._job(layer, choice, limit)
            return
        unfinished = list(range(len(choices)))
        try:
            for at, outcome in self._submitted(layer, choices, unfinished, limit):
                unfinished.remove(at)
                yield at, outcome
        except BrokenProcessPool:
            self._stop()
            for at in unfinished:
                yield at, self._alone(layer, choices[at], limit)

    def _submitted(
        self, layer: Any, choices: Sequence[Choice], rows: Sequence[int], limit: float
    ) -> Iterator[tuple[int, Outcome]]:
        executor = self._running()
        futures: dict[Future[Outcome], int] = {
            executor.submit(self._job, layer, choices[at], limit): at for at in rows
        }
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _alone(self, layer: Any, choice: Choice, limit: float) -> Outcome:
        try:
            return self._running().submit(self._job, layer, choice, limit).result()
        except BrokenProcessPool:
            self._stop()
            return Outcome.failed("the process that measured it died")

    def _running(self) -> ProcessPoolExecutor:
        if self._executor is None:
            # Not forked: threads of this process, such as a progress display's, would be missing.
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(self._jobs, context, initializer=_initialise)
        return self._executor

    def _stop(self) -> None:
        if self._executor is not None:
            for process in (self._executor._processes or {}).values():
                process.terminate()
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


def _initialise() -> None:
    # Ctrl-C goes to all processes of a terminal; this one is ended by the tuner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*COLLECTIONS)

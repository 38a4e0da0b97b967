"""Workers of a Dask cluster that measure choices."""

from __future__ import annotations

import logging
import pickle
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Generic, TypeAlias

from distributed import Client, Future, KilledWorker, get_worker, wait

from tandem.compiler.tune.pool import Failed, Job, R, packed
from tandem.compiler.tune.trial import Outcome
from tandem.workbench.errors import SchedulerError
from tandem.workbench.pools.on_worker import measure_alone

PACKAGE = "tandem-workbench"
CONNECT_SECONDS = 5.0
"""How long the scheduler has to answer."""
WORKER_SECONDS = 60.0
"""How long a cluster may be without a worker."""
_POLL_SECONDS = 1.0
"""The time without a result after which the cluster is looked at."""

Refusal: TypeAlias = tuple[str, str | None]
"""The worker's address, and its version of Tandem: not ours. None if it has no Tandem."""


class DaskPool(Generic[R]):
    """The workers of a cluster, with this version of Tandem, whoever joins and leaves it.

    Dask gives the measurements of a worker that dies to another. It gives a measurement up when
    several workers died with it, by default four; as these may have died of another one in their
    queues, it is made again, alone, and a choice that is given up once more has failed.

    Raises
    ------
    SchedulerError
        On entering: no scheduler answers. On entering and while measuring: a worker has another
        version of Tandem or Python, or the cluster is without a worker for `worker_seconds`. While
        measuring: the scheduler is lost.

    Parameters
    ----------
    address
        The scheduler's, as Dask has it: `tcp://host:8786`.
    tandem
        The version of Tandem that workers must have; this one if None.
    say
        Called with a line about a wait; prints it on standard error if None.
    """

    def __init__(
        self,
        job: Job[R],
        address: str,
        *,
        failed: Failed[Any] = Outcome.failed,
        tandem: str | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        worker_seconds: float = WORKER_SECONDS,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._job = job
        self._failed = failed
        self._address = address
        self._tandem = tandem or version(PACKAGE)
        self._connect_seconds = connect_seconds
        self._worker_seconds = worker_seconds
        self._say = say or partial(print, file=sys.stderr, flush=True)
        self._checked: set[str] = set()

    def __enter__(self) -> DaskPool[R]:
        with ExitStack() as opened:
            opened.enter_context(_quiet(logging.getLogger("distributed.client")))
            try:
                self._client = Client(
                    self._address, timeout=self._connect_seconds, set_as_default=False
                )
            except (OSError, ValueError) as error:
                raise SchedulerError(f"scheduler {self._address}: {error}") from None
            opened.callback(self._client.close)
            self._await_workers()
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()

    def measure(self, layer: Any, choices: Sequence[Any], limit: float) -> Iterator[tuple[int, R]]:
        """Measure choices; pairs of a position and an outcome, as the measurements end.

        Raises
        ------
        WorkerError
            The layer cannot be sent to a worker, or not be imported there.
        """
        job = packed(self._job, layer)
        self._await_workers()
        given_up = []
        for at, outcome in self._submitted(job, choices, range(len(choices)), limit):
            if outcome is None:
                given_up.append(at)
            else:
                yield at, outcome
        for at in sorted(given_up):
            self._await_workers()
            ((_, outcome),) = self._submitted(job, choices, [at], limit)
            yield (
                at,
                self._failed("the workers that measured it died") if outcome is None else outcome,
            )

    def _submitted(
        self, job: bytes, choices: Sequence[Any], rows: Sequence[int], limit: float
    ) -> Iterator[tuple[int, R | None]]:
        """Outcomes as they come; None for a measurement that Dask gave up."""
        task = _task()
        with self._connected():
            pending: dict[Future[Any], int] = {}
            for at in rows:
                call = partial(measure_alone, job, choices[at], limit)
                # Not pure: a result that is kept from before would hide its measurement.
                future = self._client.submit(task, self._tandem, pickle.dumps(call), pure=False)
                pending[future] = at
        while pending:
            for future, outcome in self._ended(list(pending)):
                yield pending.pop(future), outcome

    def _ended(self, pending: Sequence[Future[Any]]) -> Iterator[tuple[Future[Any], R | None]]:
        """Futures that have ended, with their outcomes; none after some time without any."""
        done: set[Future[Any]] = set()
        with self._connected(), self._client.as_current(), suppress(TimeoutError):
            done = wait(pending, _POLL_SECONDS, return_when="FIRST_COMPLETED").done
        ended = 0
        for future in done:
            with self._connected():
                try:
                    outcome = self._outcome(future)
                except TimeoutError:
                    # Its worker died before it sent the outcome: it is computed again.
                    continue
            # Or the cluster computes it once more when its worker dies later.
            future.release()
            ended += 1
            yield future, outcome
        if not ended:
            self._await_workers()

    def _outcome(self, future: Future[Any]) -> R | None:
        try:
            answer = future.result(_POLL_SECONDS)
        except KilledWorker:
            return None
        if isinstance(answer, tuple):
            raise self._wrong_version(*answer)
        return answer

    def _await_workers(self) -> None:
        """Return when there is a worker, and all that there are can be used."""
        started, said = monotonic(), False
        while not (workers := self._workers()):
            if monotonic() - started >= self._worker_seconds:
                seconds = f"{self._worker_seconds:.0f} s"
                raise SchedulerError(f"scheduler {self._address}: without a worker for {seconds}")
            if not said:
                seconds = f"{self._worker_seconds:.0f} s at most"
                self._say(f"scheduler {self._address}: waiting for a worker, {seconds}")
                said = True
            sleep(_POLL_SECONDS / 4)
        if new := [worker for worker in workers if worker not in self._checked]:
            self._check(new)

    def _workers(self) -> Sequence[str]:
        with self._connected():
            return list(self._client.nthreads())

    def _check(self, workers: Sequence[str]) -> None:
        """Refuse workers with another version of Tandem, or of Python, for which code differs."""
        with self._connected():
            ask = partial(self._client.run, workers=list(workers), on_error="return")
            pythons, tandems = ask(platform.python_version), ask(version, PACKAGE)
        for worker in workers:
            match pythons.get(worker), tandems.get(worker):
                case _, PackageNotFoundError():
                    raise self._wrong_version(worker, None)
                case str(python), str() if _minor(python) != _minor(platform.python_version()):
                    raise SchedulerError(
                        f"worker {worker} has Python {python}, and this is "
                        f"{platform.python_version()}"
                    )
                case str(), str(tandem) if tandem != self._tandem:
                    raise self._wrong_version(worker, tandem)
                case str(), str():
                    self._checked.add(worker)
                # Anything else: the worker has died meanwhile.

    def _wrong_version(self, worker: str, found: str | None) -> SchedulerError:
        has = "no Tandem" if found is None else f"Tandem {found}"
        return SchedulerError(
            f"worker {worker} has {has}, and this is {self._tandem}: they must be the same"
        )

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Context in which a lost connection to the scheduler is a `SchedulerError`."""
        try:
            yield
        except (OSError, CancelledError):
            raise SchedulerError(f"scheduler {self._address}: the connection was lost") from None


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Context in which a logger of Dask is silent: what it has to say is in our errors."""
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _minor(python: str) -> str:
    """The version of Python that determines its byte code."""
    return python.rpartition(".")[0]


def _task() -> Callable[[str, bytes], Any]:
    """The function that workers run, which returns an outcome or a `Refusal`.

    It compares versions before it touches any of our modules.

    Dask sends a local function as byte code, so that the scheduler and workers of another version
    need no module of ours to read it.
    """

    def measure(tandem: str, packed: bytes) -> Any:
        try:
            found = version(PACKAGE)
        except PackageNotFoundError:
            found = None
        if found != tandem:
            return get_worker().address, found
        return pickle.loads(packed)()

    return measure

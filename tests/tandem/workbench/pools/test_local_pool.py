"""Measurements in processes: all outcomes come, whatever happens to a process."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tandem.compiler.errors import WorkerError
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.trial import Outcome, Status
from tandem.workbench.pools.local_pool import LocalPool, default_jobs

CHOICES: list[Choice] = [{"x": x} for x in range(6)]


def square(layer: int, choice: Choice, limit: float) -> Outcome:
    x = int(choice["x"])
    return Outcome.measured(layer + x * x) if x * x <= limit else Outcome.abandoned()


def dies_at_three(layer: str, choice: Choice, limit: float) -> Outcome:
    if choice["x"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome.measured(float(choice["x"]))


def dies_once(layer: str, choice: Choice, limit: float) -> Outcome:
    """The first process that measures 3 dies; `layer` is the folder where it leaves a mark."""
    mark = Path(layer) / "died"
    if choice["x"] == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome.measured(float(choice["x"]))


@pytest.mark.parametrize("jobs", [1, 2])
def test_outcomes_are_those_of_the_function(jobs: int) -> None:
    with LocalPool(square, jobs) as pool:
        found = dict(pool.measure(10, CHOICES, 9))
        again = dict(pool.measure(20, CHOICES[:2], 9))
    assert [found[at].cost for at in range(4)] == [10, 11, 14, 19]
    assert [found[at].status for at in (4, 5)] == [Status.ABANDONED] * 2
    assert [again[at].cost for at in range(2)] == [20, 21]


def test_a_choice_that_kills_its_process_has_failed_and_no_other_has() -> None:
    with LocalPool(dies_at_three, 2) as pool:
        found = dict(pool.measure("", CHOICES, 0))
    assert found.pop(3) == Outcome.failed("the process that measured it died")
    assert {at: outcome.cost for at, outcome in found.items()} == {0: 0, 1: 1, 2: 2, 4: 4, 5: 5}


def test_a_process_that_dies_once_costs_no_outcome(tmp_path: Path) -> None:
    with LocalPool(dies_once, 2) as pool:
        found = dict(pool.measure(str(tmp_path), CHOICES, 0))
    assert {at: outcome.cost for at, outcome in found.items()} == {at: at for at in range(6)}


def test_leaving_ends_all_processes() -> None:
    with LocalPool(square, 2) as pool:
        next(pool.measure(0, CHOICES, 100))
        (executor,) = [value for value in vars(pool).values() if hasattr(value, "_processes")]
        processes = list(executor._processes.values())
    assert processes
    assert not any(process.is_alive() for process in processes)


def test_one_job_a_core() -> None:
    assert default_jobs() == len(os.sched_getaffinity(0))


class Gone:
    """A class of a module that another process cannot import."""


def test_a_module_that_a_process_cannot_import_is_an_error_not_a_failed_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("only_here")
    monkeypatch.setattr(Gone, "__module__", module.__name__)
    monkeypatch.setattr(module, "Gone", Gone, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with LocalPool(square, 2) as pool, pytest.raises(WorkerError, match="No module named 'only_h"):
        dict(pool.measure(Gone(), CHOICES, 0))


def test_what_is_in_no_module_cannot_be_sent() -> None:
    with LocalPool(square, 2) as pool, pytest.raises(WorkerError, match="cannot be sent to anoth"):
        dict(pool.measure(lambda: 0, CHOICES, 0))
    # In this process nothing is sent.
    with LocalPool(lambda layer, choice, limit: layer(), 1) as pool:
        assert dict(pool.measure(lambda: 7, CHOICES[:1], 0)) == {0: 7}

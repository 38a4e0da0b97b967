"""Measurements on the workers of a cluster: the outcomes of one process, whoever joins and dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import LocalCluster
from typer.testing import CliRunner

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.trial import Outcome, Status
from tandem.scripts.cli import app
from tandem.workbench.errors import SchedulerError
from tandem.workbench.pools.dask_pool import DaskPool
from tests.tandem.workbench.pools.test_local_pool import CHOICES, dies_at_three, dies_once, square

LAYERS = ("--layer", "a=4,4,8,8,3,1,1", "--layer", "b=4,4,8,16,1,2,0", "--config", "small8")
NOBODY = "tcp://127.0.0.1:1"


def cluster_of(workers: int, threads: int = 1) -> LocalCluster:
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=True,
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with cluster_of(2) as running:
        yield running


def slow(layer: int, choice: Choice, limit: float) -> Outcome:
    time.sleep(0.3)
    return Outcome.measured(float(choice["x"]))


def counts_threads(layer: str, choice: Choice, limit: float) -> Outcome:
    """The number of jobs that run in this process at the same time; `layer` is an empty folder."""
    mark = Path(layer) / f"{os.getpid()}-{choice['x']}"
    mark.touch()
    time.sleep(0.02)
    running = len(list(Path(layer).glob(f"{os.getpid()}-*")))
    mark.unlink()
    return Outcome.measured(running)


def test_outcomes_are_those_of_the_function(cluster: LocalCluster) -> None:
    with DaskPool(square, cluster.scheduler_address) as pool:
        found = dict(pool.measure(10, CHOICES, 9))
        again = dict(pool.measure(20, CHOICES[:2], 9))
    assert [found[at].cost for at in range(4)] == [10, 11, 14, 19]
    assert [found[at].status for at in (4, 5)] == [Status.ABANDONED] * 2
    assert [again[at].cost for at in range(2)] == [20, 21]


def test_a_process_measures_one_choice_at_a_time(tmp_path: Path) -> None:
    with (
        cluster_of(1, threads=3) as cluster,
        DaskPool(counts_threads, cluster.scheduler_address) as pool,
    ):
        found = dict(pool.measure(str(tmp_path), CHOICES, 0))
    assert [outcome.cost for outcome in found.values()] == [1] * len(CHOICES)


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
def test_the_number_of_workers_changes_nothing(workers: int) -> None:
    results = []
    with cluster_of(workers) as cluster:
        for where in (("--jobs", "1"), ("--scheduler", cluster.scheduler_address)):
            arguments = ("tune", *LAYERS, "--trials", "9", "--json", *where)
            result = CliRunner().invoke(app, arguments)
            assert (result.exit_code, result.stderr) == (0, "")
            results.append({**json.loads(result.stdout), "seconds": 0})
    assert results[0] == results[1]


def test_workers_of_another_version_are_refused(cluster: LocalCluster) -> None:
    message = r"^worker tcp://\S+ has Tandem \S+, and this is 9\.9: they must be the same$"
    with pytest.raises(SchedulerError, match=message):
        DaskPool(square, cluster.scheduler_address, tandem="9.9").__enter__()


WITHOUT_TANDEM = """
from importlib.metadata import Distribution, PackageNotFoundError
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tandem":
            raise ModuleNotFoundError(name)

def from_name(name, found=Distribution.from_name):
    if name == "tandem-workbench":
        raise PackageNotFoundError(name)
    return found(name)

sys.meta_path.insert(0, Nowhere())
Distribution.from_name = from_name
"""
"""Makes Python run as if Tandem were not installed, as its `sitecustomize`."""


def hide_version(version: str | None, folder: Path) -> None:
    """Write a folder that, in front of the path, hides the installed version of Tandem."""
    if version is None:
        (folder / "sitecustomize.py").write_text(WITHOUT_TANDEM)
        return
    installed = folder / f"tandem_workbench-{version}.dist-info"
    installed.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: tandem-workbench\nVersion: {version}\n"
    (installed / "METADATA").write_text(metadata)


@contextmanager
def worker_with(folder: Path, address: str) -> Iterator[None]:
    """A worker with a folder in front of its path."""
    worker = subprocess.Popen(
        [
            *(sys.executable, "-m", "dask", "worker", address),
            *("--nthreads", "1", "--no-dashboard", "--no-nanny"),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), os.getcwd()))},
        cwd=folder,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        worker.terminate()
        worker.wait()


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("version", "joins"),
    [("9.9", "between batches"), ("9.9", "within a batch"), (None, "within a batch")],
)
def test_a_worker_of_another_version_that_joins_later_is_refused(
    version: str | None, joins: str, tmp_path: Path
) -> None:
    hide_version(version, tmp_path)
    has = "no Tandem" if version is None else r"Tandem 9\.9"
    message = rf"^worker tcp://\S+ has {has}, and this is \S+: they must be the same$"
    with (
        cluster_of(1) as cluster,
        DaskPool(square, cluster.scheduler_address) as pool,
        worker_with(tmp_path, cluster.scheduler_address),
    ):
        while len(cluster.scheduler_info["workers"]) < 2:
            time.sleep(0.05)
        if joins == "within a batch":
            # Nothing is checked but by the measurements that Dask gives to the new worker.
            pool._checked.update(cluster.scheduler_info["workers"])
        with pytest.raises(SchedulerError, match=message):
            list(pool.measure(0, CHOICES, 0))


def test_no_scheduler() -> None:
    message = rf"^scheduler {NOBODY}: Timed out trying to connect to {NOBODY} after 0.2 s$"
    with pytest.raises(SchedulerError, match=message):
        DaskPool(square, NOBODY, connect_seconds=0.2).__enter__()


@pytest.mark.parametrize(
    ("address", "reason"), [("machine", "missing port number"), ("post://a:1", "unknown address")]
)
def test_no_address(address: str, reason: str) -> None:
    with pytest.raises(SchedulerError, match=rf"^scheduler {address}: {reason}"):
        DaskPool(square, address).__enter__()


def test_no_workers() -> None:
    said: list[str] = []
    with cluster_of(0) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(SchedulerError, match=rf"^scheduler {address}: without a worker for"):
            DaskPool(square, address, worker_seconds=0.5, say=said.append).__enter__()
    assert len(said) == 1
    assert "waiting for a worker" in said[0]


def test_a_scheduler_that_is_lost(capfd: pytest.CaptureFixture[str]) -> None:
    with cluster_of(1) as cluster, DaskPool(slow, cluster.scheduler_address) as pool:
        batch = pool.measure(0, CHOICES, 0)
        next(batch)
        cluster.close()
        with pytest.raises(SchedulerError, match=r"^scheduler \S+: the connection was lost$"):
            list(batch)
    assert "distributed.client" not in capfd.readouterr().err


def test_a_worker_that_dies_once_costs_no_outcome(tmp_path: Path) -> None:
    with cluster_of(2) as cluster, DaskPool(dies_once, cluster.scheduler_address) as pool:
        found = dict(pool.measure(str(tmp_path), CHOICES, 0))
    assert {at: outcome.cost for at, outcome in found.items()} == {at: at for at in range(6)}


@pytest.mark.exhaustive
def test_a_choice_that_kills_workers_has_failed_and_no_other_has() -> None:
    with cluster_of(2) as cluster, DaskPool(dies_at_three, cluster.scheduler_address) as pool:
        found = dict(pool.measure("", CHOICES, 0))
    assert found.pop(3) == Outcome.failed("the workers that measured it died")
    assert {at: outcome.cost for at, outcome in found.items()} == {0: 0, 1: 1, 2: 2, 4: 4, 5: 5}


def test_usage() -> None:
    result = CliRunner().invoke(app, ["tune", *LAYERS, "--jobs", "1", "--scheduler", NOBODY])
    assert result.exit_code == 2
    assert "--jobs or --scheduler" in result.stderr


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.workbench.pools.open_pool.find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["tune", *LAYERS, "--scheduler", NOBODY])
    wanted = (
        "error: --scheduler needs Dask, which is not installed: "
        "pip install 'tandem-workbench[distributed]'\n"
    )
    assert (result.exit_code, result.stderr) == (1, wanted)

"""Searches that are killed at random moments and resumed, as processes."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.scripts.cli import app
from tests.support.hw.rtl.rtl import seeds
from tests.support.scripts.terminal import ROOT

CASES = 5
KILLS = 2
"""In each case."""
POINTS = 24
TIMEOUT = 1800
"""Seconds until a process has finished a few machines, on a busy computer."""
SPACE: dict[str, Any] = {
    "base": "small8",
    "fields": {
        "log_block_in,log_block_out": [[3, 3], [4, 4]],
        "log_inp_buffer": [10, 11, 12],
        "log_wgt_buffer": [12, 13, 14],
        "acc_read_ports": [1, 2],
        "longest_burst": [8, 16, 32, 64],
        "instruction_queue": [4, 8, 16, 32],
    },
}


def options(space: Path, storage: Path) -> list[str]:
    url = f"sqlite:///{storage}"
    budget = ("--budget", str(POINTS), "--storage", url, "--json")
    return ["search", "digits", "--space", str(space), *budget]


def finished(storage: Path) -> int:
    """The number of machines in a study."""
    if not storage.exists():
        return 0
    # Not read only: SQLite has to undo what a killed process had not committed.
    connection = sqlite3.connect(storage, timeout=TIMEOUT)
    try:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'trials'")
        if tables.fetchone() is None:
            return 0
        rows = connection.execute("SELECT count(*) FROM trials WHERE state != 'RUNNING'")
        (count,) = rows.fetchone()
        return int(count)
    finally:
        connection.close()


def whole(space: Path, storage: Path) -> list[Any]:
    """The points of a search to its end, in this process."""
    result = CliRunner().invoke(app, [*options(space, storage), "--jobs", "1"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["points"]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The file of the space, and the points of a search that nothing interrupts."""
    folder = tmp_path_factory.mktemp("searched")
    space = folder / "mine.json"
    space.write_text(json.dumps(SPACE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANDEM_CACHE", str(folder))
        return space, whole(space, folder / "studies.db")


@pytest.mark.timeout(3 * TIMEOUT)
@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(CASES))
def test_killed_at_random_moments(
    seed: int,
    searched: tuple[Path, list[Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No finished machine is lost or measured twice, and the machines are those of one search."""
    chance = random.Random(seed)
    space, wanted = searched
    storage = tmp_path / "studies.db"
    # In the common cache all results are known, and no process would be killed while it measures.
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path))
    for _ in range(KILLS):
        before = finished(storage)
        process = subprocess.Popen(
            [sys.executable, "-m", "tandem.scripts.cli", *options(space, storage), "--jobs", "2"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + TIMEOUT
        more = before + chance.randrange(1, 8)
        while process.poll() is None and finished(storage) < min(more, POINTS):
            assert time.monotonic() < end
            time.sleep(0.02)
        time.sleep(chance.random() * 0.05)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert finished(storage) >= before
    assert whole(space, storage) == wanted
    assert finished(storage) == POINTS

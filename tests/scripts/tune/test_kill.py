"""Tuners and their processes that are killed, interrupted, or run out of disk, at any moment.

A run's trials depend on its seed alone, so that a run that was stopped and resumed ends with the
records of one that was not, line by line.
"""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.compiler.tune.records import read_records
from tandem.scripts.cli import app
from tests.support.hw.rtl.rtl import seeds
from tests.support.scripts.terminal import ROOT, interrupted

LAYERS = ("--layer", "a=4,4,8,8,3,1,1", "--layer", "b=4,4,8,16,1,2,0", "--config", "small8")
KILLS = 20
MOMENT = 0.1
"""Seconds: a measurement takes some hundredth of one."""
TIMEOUT = 120


def options(records: Path, trials: int, explorer: str) -> list[str]:
    counts = ("--trials", str(trials), "--explorer", explorer, "--records", str(records))
    return ["tune", *LAYERS, *counts, "--json"]


def whole(records: Path, trials: int, explorer: str) -> dict[str, Any]:
    """A run to its end, in this process."""
    result = CliRunner().invoke(app, [*options(records, trials, explorer), "--jobs", "1"])
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return {key: found[key] for key in ("tasks", "total")}


@contextmanager
def running(
    arguments: list[str], prepare: Callable[[], None] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A run on two processes; whatever is left of it at the end is killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tandem.scripts.cli", *arguments, "--jobs", "2"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=prepare,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines(records: Path) -> list[bytes]:
    """The lines that end."""
    return records.read_bytes().split(b"\n")[:-1] if records.exists() else []


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def wait_for_lines(records: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until so many trials are recorded, or the run has ended."""
    wait_for(lambda: len(lines(records)) >= count or process.poll() is not None)


def workers(process: subprocess.Popen[str]) -> list[int]:
    """The processes that measure."""
    found = []
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for child in children:
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def group_ended(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def kill_once(arguments: list[str], records: Path, new: int, delay: float) -> None:
    """Kill a run some time after `new` more trials, and check what is left of it."""
    before = lines(records)
    with running(arguments) as process:
        wait_for_lines(records, len(before) + new, process)
        time.sleep(delay)
        process.kill()
        process.wait()
        # Its processes notice, and end.
        wait_for(lambda: group_ended(process.pid))
    after = lines(records)
    assert after[: len(before)] == before, "nothing is lost"
    if records.exists():
        assert not read_records(records)[1], "no line is damaged"


def check_equal(records: Path, reference: Path) -> None:
    found = lines(records)
    assert len(set(found)) == len(found), "no trial is measured twice"
    assert sorted(found) == sorted(lines(reference))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(1))
def test_a_killed_run_is_resumed(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    records, reference = tmp_path / "records.jsonl", tmp_path / "reference.jsonl"
    how = (16, "genetic")
    kill_once(options(records, *how), records, draw.randrange(1, 16), draw.uniform(0, MOMENT))
    assert lines(records)
    assert whole(records, *how) == whole(reference, *how)
    check_equal(records, reference)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(1))
def test_a_run_killed_at_many_moments(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    records, reference = tmp_path / "records.jsonl", tmp_path / "reference.jsonl"
    how = (64, "xgboost")
    for _ in range(KILLS):
        # Some die while they start, and those that were stopped most often go on for longest.
        new, delay = draw.choice([(0, 3.0), (1, MOMENT), (draw.randrange(1, 8), MOMENT)])
        kill_once(options(records, *how), records, new, draw.uniform(0, delay))
    assert whole(records, *how) == whole(reference, *how)
    check_equal(records, reference)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(1))
def test_processes_that_measure_are_killed_at_many_moments(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    records, reference = tmp_path / "records.jsonl", tmp_path / "reference.jsonl"
    how = (64, "xgboost")
    killed = 0
    with running(options(records, *how)) as process:
        for _ in range(KILLS):
            # A choice whose process dies again and again has failed: something has to end between.
            wait_for_lines(records, len(lines(records)) + 1, process)
            time.sleep(draw.uniform(0, MOMENT))
            if found := workers(process):
                os.kill(draw.choice(found), signal.SIGKILL)
                killed += 1
        output, errors = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, errors) == (0, "")
        wait_for(lambda: group_ended(process.pid))
    assert killed >= KILLS - 2
    expected = whole(reference, *how)
    found_json = json.loads(output)
    assert {key: found_json[key] for key in expected} == expected
    check_equal(records, reference)


@pytest.mark.exhaustive
@pytest.mark.parametrize("everyone", [False, True])
@pytest.mark.parametrize("shows", [b"default", b"trials,"])
def test_an_interrupted_run(shows: bytes, everyone: bool, tmp_path: Path) -> None:
    """One line, no process and no traceback; the trials are kept, and the run can be resumed."""
    records, reference = tmp_path / "records.jsonl", tmp_path / "reference.jsonl"
    how = (24, "genetic")
    arguments = [part for part in options(records, *how) if part != "--json"]
    assert interrupted([*arguments, "--jobs", "2"], shows, tmp_path, everyone=everyone) == b""
    kept = lines(records)
    assert kept
    assert not read_records(records)[1]
    assert whole(records, *how) == whole(reference, *how)
    assert lines(records)[: len(kept)] == kept
    check_equal(records, reference)


@pytest.mark.exhaustive
def test_a_disk_that_is_full_in_the_middle(tmp_path: Path) -> None:
    records, reference = tmp_path / "records.jsonl", tmp_path / "reference.jsonl"
    how = (16, "genetic")
    expected = whole(reference, *how)
    # The file may grow to ten lines and a half.
    most = sum(len(line) + 1 for line in lines(reference)[:10]) + 500

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    with running(options(records, *how), limit) as process:
        output, errors = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, output) == (1, "")
        assert errors == f"error: {records}: {os.strerror(errno.EFBIG)}\n"
        wait_for(lambda: group_ended(process.pid))
    kept = lines(records)
    assert 9 <= len(kept) <= 11
    assert records.read_bytes().endswith(b"\n"), "what did not fit was cut off"
    assert whole(records, *how) == expected
    check_equal(records, reference)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_file_that_is_read_only(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = tmp_path / "records.jsonl"
    how = (4, "random")
    whole(records, *how)
    before, real = records.read_bytes(), os.open

    def refuse(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if str(path) == str(records) and flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(code, os.strerror(code), str(path))
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refuse)
    result = CliRunner().invoke(app, [*options(records, *how), "--jobs", "1"])
    assert result.exit_code == 1
    assert result.stderr == f"error: {records}: {os.strerror(code)}\n"
    assert records.read_bytes() == before

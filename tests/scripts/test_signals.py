"""SIGTERM and SIGINT: files and processes go, and one line remains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer

from tandem.hw.config_files import load_config
from tandem.scripts.signals import (
    HUNG_UP,
    INTERRUPTED,
    TERMINATED,
    interruptions_in_one_line,
    terminable,
)
from tests.support.sim.kept_verilog import keep_verilog

ROOT = Path(__file__).parents[2]
TIMEOUT = 60


@contextmanager
def handled(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.fixture(autouse=True)
def hanging_up_ends_processes() -> Iterator[None]:
    """As in a terminal: what runs tests may ignore SIGHUP, as `nohup` does."""
    with handled(signal.SIGHUP, signal.SIG_DFL):
        yield


def stopped_by(number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(typer.Exit) as caught, interruptions_in_one_line():
        signal.raise_signal(number)
    return caught.value.exit_code, capsys.readouterr().err


def test_the_line_and_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert stopped_by(signal.SIGTERM, capsys) == (TERMINATED, "error: terminated\n")
    assert stopped_by(signal.SIGHUP, capsys) == (HUNG_UP, "error: terminated\n")
    assert stopped_by(signal.SIGINT, capsys) == (INTERRUPTED, "error: interrupted\n")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_contexts_share_a_handler() -> None:
    with terminable() as outer, terminable() as inner:
        assert inner is outer
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert outer.status == TERMINATED


def test_a_background_process_ignores_ctrl_c_alone() -> None:
    with handled(signal.SIGINT, signal.SIG_IGN), terminable():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_what_is_ignored_stays_ignored() -> None:
    with handled(signal.SIGTERM, signal.SIG_IGN), terminable() as handler:
        signal.raise_signal(signal.SIGTERM)
        assert handler.status == INTERRUPTED
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGHUP)


def compilers(group: int) -> list[int]:
    """The processes of a session that compile C++."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            session = int((folder / "stat").read_text().rpartition(")")[2].split()[3])
            if session == group and (folder / "comm").read_text().strip() == "cc1plus":
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def processes(session: int) -> int:
    """The number of processes in a session, zombies excepted."""
    count = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, *_, found = file.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        count += found == str(session) and state != "Z"
    return count


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGTERM, TERMINATED, "error: terminated\n"),
        pytest.param(
            *(signal.SIGINT, INTERRUPTED, "error: interrupted\n"), marks=pytest.mark.exhaustive
        ),
    ],
)
def test_compilers_end_with_the_command(
    number: signal.Signals, status: int, said: str, tmp_path: Path
) -> None:
    """The signal goes to the command alone, while it builds a simulator."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")
    (tmp_path / "program.bin").write_bytes(bytes([3]) + bytes(15))
    (tmp_path / "image.bin").write_bytes(bytes(64))
    cache = tmp_path / "cache"
    keep_verilog(load_config("tiny"), cache)
    files = ["program.bin", "--image", "image.bin", "-o", "after.bin"]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tandem.scripts.cli",
            "sim",
            *files,
            "--engine",
            "rtl",
            "--config",
            "tiny",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TANDEM_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + TIMEOUT
        while not compilers(process.pid):
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        output, errors = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, output, errors) == (status, "", said)
        assert processes(process.pid) == 0
    finally:
        process.kill()
        process.communicate()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "image.bin", "program.bin"]
    scratch = [path.name for path in (cache / "rtl").glob(".*") if path.suffix != ".lock"]
    assert scratch == []


SHOWN = {signal.SIGINT: "error: interrupted\n", signal.SIGTERM: "error: terminated\n"}


def ended(code: str, number: signal.Signals) -> tuple[int, str]:
    """Exit status and standard error of a process that runs `code`, which raises the signal."""
    done = subprocess.run(
        [sys.executable, "-c", f"import signal\nNUMBER = {int(number)}\n{code}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    return done.returncode, done.stderr


IN_IMPORTS = """
from tandem.scripts.signals import ended_at_once, terminable
with terminable():
    try:
        with ended_at_once():
            signal.raise_signal(NUMBER)
    except BaseException:
        print("not at once")
"""
IN_A_TEXT = """
from tandem.scripts.signals import interruptions_in_one_line
import sys, typer
try:
    with interruptions_in_one_line():
        exec("signal.raise_signal(NUMBER)")
except typer.Exit as error:
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("code", [IN_IMPORTS, IN_A_TEXT], ids=["import", "exec"])
@pytest.mark.parametrize("number", SHOWN)
def test_exit_status_is_right_wherever_the_signal_comes(number: signal.Signals, code: str) -> None:
    assert ended(code, number) == (128 + number, SHOWN[number])

"""Commands that are stopped at random moments by SIGINT, SIGTERM or SIGKILL.

Outputs are whole or absent, or say that they are incomplete; no process is left; the next run of
the command is right.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tandem.base.input_files import INCOMPLETE
from tandem.compiler.tune.records import read_records
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.runtime.artifact import read_artifact
from tandem.scripts.cli import app
from tandem.sim.rtl.design import verilog_of
from tests.support.compiler.models.models import convolution

ROOT = Path(__file__).parents[2]
TIMEOUT = 60
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
JOBS = "2"
LAST_LINE = {130: "error: interrupted", 143: "error: terminated"}


@dataclass(frozen=True)
class Command:
    """A command, and the check of what it leaves in a folder.

    Attributes
    ----------
    outputs
        Names of the files and folders that it writes.
    check
        Raises `AssertionError` unless the outputs that exist are whole.
    seconds
        About how long the command takes.
    """

    arguments: Sequence[str]
    outputs: Sequence[str]
    check: Callable[[Path], None]
    seconds: float


def check_run(folder: Path) -> None:
    if (path := folder / "out.npz").exists():
        with np.load(path) as found:
            assert found["out:0"].shape == (1, 6)
    if (path := folder / "run.json").exists():
        assert json.loads(path.read_text())["traceEvents"]
    if (path := folder / "run.html").exists():
        assert path.read_text().rstrip().endswith("</html>")


def check_compile(folder: Path) -> None:
    if (path := folder / "net.tandem").exists():
        assert read_artifact(path).fallback is not None


def check_design(folder: Path) -> None:
    """The design is that of one machine, or the folder is marked."""
    design = folder / "design"
    if not design.exists() or (design / INCOMPLETE).exists():
        return
    expected = files_of(load_config(design / "config.json"))
    assert (design / "tandem.f").read_text().split() == [*expected]
    found = {path.name: path.read_text() for path in design.glob("*.v")}
    assert found == expected


@cache
def files_of(config: HardwareConfig) -> Mapping[str, str]:
    return verilog_of(config).files


def check_tune(folder: Path) -> None:
    if (path := folder / "r.jsonl").exists():
        assert not read_records(path)[1]


RUN = Command(
    (
        *("run", "net.onnx", "--config", "tiny", "--output", "out.npz"),
        *("--trace", "run.json", "--report", "run.html"),
    ),
    ("out.npz", "run.json", "run.html"),
    check_run,
    5,
)
COMPILE = Command(
    ("compile", "net.onnx", "--config", "tiny", "-o", "net.tandem"),
    ("net.tandem",),
    check_compile,
    3,
)
TUNE = Command(
    (
        *("tune", "--layer", "a=4,4,8,8,3,1,1", "--config", "small8", "--records", "r.jsonl"),
        *("--trials", "8", "--explorer", "random", "--jobs", JOBS),
    ),
    ("r.jsonl",),
    check_tune,
    5,
)


def check_soc(folder: Path) -> None:
    """The system is whole, or the folder is marked."""
    system = folder / "system"
    if not system.exists() or (system / INCOMPLETE).exists():
        return
    listed = (system / "simulation" / "sources.f").read_text().split()
    for name in ("LICENSES.md", "firmware/firmware.c", "network/network.h", "gateware/soc.v"):
        assert (system / name).exists()
    assert listed
    assert all((system / name.removeprefix("../")).exists() for name in listed)


SOC = Command(("soc", "net.onnx", "--config", "tiny-x", "-o", "system"), ("system",), check_soc, 4)
"""LiteX runs in a process of its own for most of the time; `seconds` is without that."""


def rtl(config: str) -> Command:
    arguments = ("rtl", "--config", config, "-o", "design")
    return Command(arguments, ("design",), check_design, 4)


def build(cache: str) -> Command:
    """A run on a simulator that is not in the cache."""
    arguments = ("run", "net.onnx", "--config", "tiny", "--engine", "rtl", "--output", "out.npz")
    return Command(("env", f"TANDEM_CACHE={cache}", *arguments), ("out.npz",), check_run, 20)


def processes(session: int) -> list[int]:
    """The processes of a session, zombies excepted."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, *_, number = file.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if number == str(session) and state != "Z":
            found.append(int(file.parent.name))
    return found


def stop(command: Command, folder: Path, source: random.Random) -> signal.Signals:
    """Run a command, stop it at a random moment, and check what it leaves; returns the signal."""
    arguments, environment = [*command.arguments], {**os.environ, "PYTHONPATH": str(ROOT)}
    if arguments[0] == "env":
        name, value = arguments[1].split("=")
        environment[name], arguments = value, arguments[2:]
    number, everyone = source.choice(SIGNALS), source.random() < 0.3
    process = subprocess.Popen(
        [sys.executable, "-m", "tandem.scripts.cli", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        time.sleep(source.uniform(0, command.seconds))
        if process.poll() is None:
            if everyone:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
        process.communicate()
    # Python itself ends by the signal before the command has begun.
    assert process.returncode in (0, 130, 143, -number), errors
    if process.returncode in LAST_LINE and errors:
        assert errors.splitlines()[-1] == LAST_LINE[process.returncode]
        assert "Traceback" not in errors
    end = time.monotonic() + TIMEOUT / 6
    while left := processes(process.pid):
        assert time.monotonic() < end, left
        time.sleep(0.01)
    command.check(folder)
    parts = [*folder.glob(".*.part*")]
    assert number is signal.SIGKILL or not parts
    for part in parts:
        if part.is_file():
            part.unlink()
    return number


def finish(command: Command, folder: Path) -> None:
    """Run a command to its end, and check that all of its outputs are there."""
    arguments = ["1" if each == JOBS else each for each in command.arguments]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    assert all((folder / name).exists() for name in command.outputs)
    command.check(folder)
    assert not [*folder.rglob(".*.part*"), *folder.rglob(INCOMPLETE)]


def commands(source: random.Random, count: int) -> list[Command]:
    choices = [RUN, RUN, COMPILE, COMPILE, rtl("tiny"), rtl("small8"), TUNE]
    return [source.choice(choices) for _ in range(count)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")
    monkeypatch.chdir(tmp_path)
    convolution(tmp_path / "net.onnx")
    return tmp_path


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_many_stops(seed: int, folder: Path) -> None:
    """Ten stops each, into the same folder, whose outputs are old ones then."""
    source = random.Random(seed)
    for command in commands(source, 10):
        # What SIGKILL leaves is the hardest to go on from.
        if stop(command, folder, source) is signal.SIGKILL or source.random() < 0.3:
            finish(command, folder)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3))
def test_stops_of_a_system(seed: int, folder: Path) -> None:
    """While LiteX makes it, and while a folder with an earlier one is written."""
    pytest.importorskip("litex", reason="the extra soc")
    source = random.Random(f"soc {seed}")
    begin = time.monotonic()
    finish(SOC, folder)
    # How busy this machine is, it says; half of the stops meet no earlier system.
    system = replace(SOC, seconds=time.monotonic() - begin + SOC.seconds)
    for number in range(4):
        if number % 2:
            shutil.rmtree(folder / "system", ignore_errors=True)
        if stop(system, folder, source) is signal.SIGKILL:
            finish(SOC, folder)
    finish(SOC, folder)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_stops_of_a_build(seed: int, folder: Path, tmp_path: Path) -> None:
    """While Verilator and compilers run: they end, and the next build is right."""
    source = random.Random(seed)
    command = build(str(tmp_path / "cache"))
    for _ in range(3):
        stop(command, folder, source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANDEM_CACHE", str(tmp_path / "cache"))
        result = CliRunner().invoke(app, [*command.arguments[2:]])
    assert result.exit_code == 0, result.stderr
    check_run(folder)
    rtl_cache = tmp_path / "cache" / "rtl"
    assert not [path for path in rtl_cache.glob(".*") if path.suffix != ".lock"]

"""The first run of an engine on a machine: what it compiles, keeps and says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "tandem"
LINE = "compiling the simulator, once: its machine code is kept in "
PRESET = "tiny"
"""Without features: the functional engine is smallest."""


def run(cache: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`tandem run digits`, with a cache of its own, in a process of its own."""
    command = "from tandem.scripts.cli import main; main()"
    arguments = ["run", "digits", "--config", PRESET, *options]
    return subprocess.run(
        [sys.executable, "-B", "-c", command, *arguments],
        env=os.environ | {"TANDEM_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )


def compiled_for(cache: Path, engine: str, preset: str, data: bool = True) -> list[str]:
    """What is compiled for an engine, with code that is kept in `cache`."""
    code = (
        "from tandem.hw.config_files import load_config\n"
        "from tandem.base.jit import reported\n"
        "from tandem.sim.engines import make_engine\n"
        "with reported(print):\n"
        f"    make_engine({engine!r}, load_config({preset!r})).prepare({data})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TANDEM_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def sources() -> Iterator[tuple[Path, int]]:
    """All files beside the sources that are compiled."""
    for floor in ("base", "hw", "sim"):
        for path in (ROOT / floor).resolve().rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path, path.stat().st_mtime_ns


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, object]]:
    """The cache, the standard error and the answer of a first run."""
    cache, before = tmp_path_factory.mktemp("cache"), sorted(sources())
    done = run(cache, "--json")
    assert sorted(sources()) == before
    return cache, done.stderr, json.loads(done.stdout)


def test_a_first_run_says_once_that_it_compiles(
    cold: tuple[Path, str, dict[str, object]],
) -> None:
    cache, said, _ = cold
    assert said == f"{LINE}{cache}\n"


def test_only_what_the_run_needs_is_compiled(
    cold: tuple[Path, str, dict[str, object]],
) -> None:
    """In another process: the answers with and without data need other engines, whose code is there
    or not. The network has kernels, whose code is beside them."""
    cache, _, _ = cold
    assert compiled_for(cache, "cycle", PRESET) == []
    assert compiled_for(cache, "functional", f"{PRESET}-x") == ["run_slice"]


def test_time_alone_needs_no_functional_engine(tmp_path: Path) -> None:
    assert compiled_for(tmp_path, "cycle", PRESET, data=False) == ["run_program"]


def test_a_second_run_compiles_nothing(cold: tuple[Path, str, dict[str, object]]) -> None:
    cache, _, answer = cold
    kept = {path for path in cache.rglob("*") if path.is_file()}
    again = run(cache, "--json")
    assert again.stderr == ""
    assert {path for path in cache.rglob("*") if path.is_file()} == kept
    assert json.loads(again.stdout)["outputs"] == answer["outputs"]

"""Artifacts for the CPU run where only NumPy and msgspec are installed: no LLVM, no ONNX."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tandem

ROOT = Path(__file__).parents[2]
INSTALLED = ("numpy", "numpy.libs", "msgspec")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with NumPy, msgspec and Tandem."""
    found = tmp_path_factory.mktemp("packages")
    site = Path(np.__file__).parents[1]
    for name in INSTALLED:
        if (site / name).exists():
            (found / name).symlink_to(site / name)
    (found / "tandem").symlink_to(ROOT / "tandem")
    return found


@pytest.fixture(scope="module")
def alone(packages: Path, folder: Path) -> Callable[[str], str]:
    """Runs a program where these packages are all, and gives what it prints."""

    def run(program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-S", "-c", f"import tandem\n{program}"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(packages)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with artifacts for the CPU and for an accelerator, an input, and its output."""
    found = tmp_path_factory.mktemp("minimal")
    model = tandem.load("digits")
    artifact = tandem.compile(model, tandem.Cpu(threads=2), quantize=None)
    artifact.save(found / "cpu.tandem")
    tandem.compile(model, "tiny").save(found / "tiny.tandem")
    x = np.random.default_rng(1).random((1, 1, 8, 8), np.float32)
    np.save(found / "x.npy", x)
    np.save(found / "y.npy", tandem.Session(artifact, threads=1).run(x)["output"])
    return found


@pytest.mark.parametrize("threads", [1, 2, None])
def test_an_artifact_runs(alone: Callable[[str], str], threads: int | None) -> None:
    program = f"""
import numpy as np
artifact = tandem.Artifact.load("cpu.tandem")
assert "digits for the CPU alone" in repr(artifact)
with tandem.Session(artifact, threads={threads}) as session:
    run = session.run(np.load("x.npy"))
np.testing.assert_array_equal(run["output"], np.load("y.npy"))
print(len(run.layers), len(artifact.explain()))
"""
    assert alone(program) == "12 12\n"


def test_the_fallback_of_an_accelerator_runs(alone: Callable[[str], str]) -> None:
    program = """
import numpy as np
artifact = tandem.Artifact.load("tiny.tandem")
try:
    tandem.Session(artifact).run(np.load("x.npy"))
except tandem.Error as error:
    print(error)
print(tandem.Session(artifact.on_cpu()).run(np.load("x.npy"))["output"].shape)
"""
    refusal, shape = alone(program).splitlines()
    assert "LLVM, which is not installed: pip install llvmlite" in refusal
    assert shape == "(1, 10)"


@pytest.mark.parametrize("name", ["load", "compile", "tune", "verilog"])
def test_what_lacks_a_package_says_so(alone: Callable[[str], str], name: str) -> None:
    program = f"""
try:
    tandem.{name}
except tandem.Error as error:
    print(error)
"""
    refusal = alone(program)
    assert refusal.startswith(f"tandem.{name} needs ")
    assert refusal.endswith(", which is not installed: pip install 'tandem-workbench'\n")


def test_the_command_says_what_it_lacks(alone: Callable[[str], str]) -> None:
    program = """
from tandem.scripts.entry import main
try:
    main()
except SystemExit as error:
    print(error)
"""
    assert alone(program).startswith("error: the command needs typer, which is not installed: ")


def test_doctor_works(alone: Callable[[str], str]) -> None:
    program = """
table = tandem.doctor()
print(*(row["name"] for row in table if row["required"] and not row["ok"]), sep=",")
"""
    assert alone(program) == "processor,packages,Verilator,simulators\n"

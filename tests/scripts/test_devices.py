"""`tandem devices`, and `--device opencl` of other commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tandem.runtime.artifact import read_artifact
from tandem.runtime.artifact.ptx import PtxCode
from tandem.scripts.cli import app
from tests.support.compiler.machines.gpu.on_opencl import opencl_device


def listed() -> dict[str, dict[str, str]]:
    """The first device of each option."""
    result = CliRunner().invoke(app, ["devices", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["devices"]
    return {row["option"]: row for row in reversed(rows)}


def test_every_value_of_the_option() -> None:
    assert [*sorted(listed())] == ["accelerator", "cpu", "cuda", "opencl"]
    assert CliRunner().invoke(app, ["devices"]).output.count("\n") > 3


def test_without_pyopencl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    row = listed()["opencl"]
    assert row["name"] == ""
    assert "tandem-workbench[opencl]" in row["detail"]
    result = CliRunner().invoke(app, ["run", "digits", "--device", "opencl"])
    assert result.exit_code == 1
    assert "OpenCL needs pyopencl" in result.output


def test_without_cuda_bindings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Networks are compiled for NVIDIA's GPUs anywhere; to run them there has to be one."""
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    row = listed()["cuda"]
    assert row["name"] == ""
    assert "tandem-workbench[cuda]" in row["detail"]
    path = tmp_path / "digits.tandem"
    given = ["compile", "digits", "--device", "cuda", "-o", str(path)]
    assert CliRunner().invoke(app, given).exit_code == 0
    artifact = read_artifact(path)
    assert {step.device for step in artifact.manifest.steps} == {"cuda"}
    assert all(isinstance(code, PtxCode) for code in artifact.code.values())
    result = CliRunner().invoke(app, ["run", str(path), "--device", "cuda"])
    assert result.exit_code == 1
    assert "CUDA needs cuda-bindings" in result.output


REFUSED = {
    "--check is for --device accelerator: with --device opencl": ("run", "digits", "--check"),
    "--report shows the accelerator: not with --device": ("run", "digits", "--report", "a.html"),
    "a library in C has no code": ("export", "digits", "-o", "folder"),
    "--layer is for --device accelerator": ("tune", "--layer", "C8"),
    "--explorer sketches is for --device cpu and accelerator": (
        "tune",
        "digits",
        "--explorer",
        "sketches",
    ),
    "--threads is for --device cpu": ("compile", "digits", "-o", "a", "--threads", "2"),
    "--threads is of the CPU": ("run", "digits", "--threads", "2"),
    "on the accelerator or on the CPU": ("generate", "bytes-tiny", "--prompt", "a"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    result = CliRunner().invoke(app, [*REFUSED[message], "--device", "opencl"])
    assert result.exit_code
    assert message in " ".join(result.output.replace("│", " ").split())


def test_a_network(tmp_path: Path) -> None:
    opencl_device()
    found = []
    for device in ("opencl", "cpu"):
        path = tmp_path / f"{device}.npz"
        given = ["run", "digits", "--device", device, "--output", str(path)]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output
        # Whose the milliseconds are: of several devices, the column of devices says it.
        (head,) = [line for line in result.output.splitlines() if line.startswith("layer")]
        above = result.output[: result.output.index(head)].splitlines()[-1]
        assert head.split()[-1] == "ms"
        assert above.split() == (["CPU"] if device == "cpu" else [])
        with np.load(path) as arrays:
            found.append(dict(arrays))
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[1])

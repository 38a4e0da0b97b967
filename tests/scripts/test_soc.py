"""`tandem soc`: its JSON, and its errors, before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app
from tandem.scripts.completion import complete_soc_processor
from tests.support.compiler.models.models import convolution

pytest.importorskip("litex", reason="the extra soc")


def soc(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["soc", *map(str, arguments)])


def test_json(tmp_path: Path) -> None:
    folder = tmp_path / "system"
    model = convolution(tmp_path / "net.onnx")
    result = soc(model, "--config", "tiny-x", "--memory", "latency=4", "-o", folder, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert sorted(found["files"]) == sorted(
        str(path) for path in folder.rglob("*") if path.is_file()
    )
    assert (found["cpu"], found["config"]) == ("vexriscv", "tiny-x")
    assert found["memory"]["latency"] == 4
    assert found["cycle"] > 0
    assert [found[each] for each in ("equal", "cycles", "seconds")] == [None] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--cpu", "picorv"],
            "no processor 'picorv' of a system: there are vexriscv, picorv32; did",
        ),
        (["--memory", "latency=1"], "memory of latency 1 and interval 1: that of a system on chip"),
        (["--memory", "edge"], "memory of latency 64 and interval 4"),
        (["--quantize", "none"], "the accelerator computes nothing of this network"),
        (["--config", "small8x"], "did you mean small8-x?"),
    ],
)
def test_refusals(tmp_path: Path, options: list[str], message: str) -> None:
    model = convolution(tmp_path / "net.onnx")
    result = soc(model, "--config", "tiny-x", *options, "-o", tmp_path / "system")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "system").exists()


def test_artifacts_are_refused(tmp_path: Path) -> None:
    artifact = tmp_path / "net.tandem"
    model = convolution(tmp_path / "net.onnx")
    arguments = ["compile", str(model), "--config", "tiny-x", "-o", str(artifact)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    result = soc(artifact, "--config", "tiny-x", "-o", tmp_path / "system")
    assert result.exit_code == 1
    assert "is an artifact, compiled already" in result.stderr


def test_processors_are_completed() -> None:
    assert complete_soc_processor("v") == ["vexriscv"]

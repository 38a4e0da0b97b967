"""`tandem export`: its JSON, and its errors, before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app
from tests.support.compiler.models.models import convolution
from tests.support.workbench.cross import make


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_json(tmp_path: Path) -> None:
    folder = tmp_path / "net_c"
    result = export(convolution(tmp_path / "net.onnx"), "-o", folder, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert sorted(Path(each).name for each in found["files"]) == sorted(
        path.name for path in folder.iterdir()
    )
    assert found["entry"] == "net_run"
    assert [each["name"] for each in found["tensors"]] == ["image", "out:0"]
    assert all(found[f"{kind}_bytes"] > 0 for kind in ("arena", "code", "weight"))
    assert make(folder, "check") == "as expected\n"


def test_options_of_libraries(tmp_path: Path) -> None:
    options = ("--no-embed-weights", "--threads", 2, "--profile")
    result = export(convolution(tmp_path / "net.onnx"), "-o", tmp_path / "net_c", *options)
    assert result.exit_code == 0, result.stderr
    made = {path.name for path in (tmp_path / "net_c").iterdir()}
    assert {"net_threads.h", "net_threads.c", "net_weights.bin"} <= made
    assert "net_weights.S" not in made
    printed = make(tmp_path / "net_c", "check").splitlines()
    assert printed[-1] == "as expected"
    assert " us    1 x " in printed[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name", "../net"], "'../net' is no name in C: net would be one"),
        (["--target", "cortex-a73"], "no processor 'cortex-a73': there are cortex-a53"),
        (["--target", "rv64gc", "--no-fpu"], "no code for generic-rv64 without its FPU"),
        (
            ["--target", "cortex-m4", "--threads", 2],
            "no system with threads runs on thumbv7em-none",
        ),
        (
            ["--target", "wasm32", "--profile"],
            "--profile is for libraries in C, and wasm32-unknown",
        ),
        (["--no-fpu"], "a processor without an FPU is another than this: name it"),
        (["--quantize", "none", "--keep-float", "c"], "--keep-float is for --quantize pow2"),
        (["--input", "no.npy"], "no.npy: No such file"),
    ],
)
def test_refusals(tmp_path: Path, options: list[object], message: str) -> None:
    result = export(convolution(tmp_path / "net.onnx"), "-o", tmp_path / "net_c", *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not (tmp_path / "net_c").exists()


def test_options_of_models(tmp_path: Path) -> None:
    model, artifact = convolution(tmp_path / "net.onnx"), tmp_path / "net.tandem"
    options = [str(model), "-o", str(artifact), "--device", "cpu"]
    assert CliRunner().invoke(app, ["compile", *options]).exit_code == 0
    result = export(artifact, "-o", tmp_path / "net_c", "--target", "rv64gc")
    assert f"--target is for models: {artifact} is an artifact, compiled already" in result.stderr
    artifact.write_bytes(artifact.read_bytes()[:4000])
    assert "it is cut off" in export(artifact, "-o", tmp_path / "net_c").stderr

"""`tandem compile`: what it writes, and says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from typer.testing import CliRunner, Result

from tandem.runtime.artifact import read_artifact
from tandem.scripts.cli import app
from tests.support.compiler.models.models import convolution
from tests.support.scripts.terminal import interrupted


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["compile", *map(str, arguments)])


def refused(message: str, *arguments: object) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_json(tmp_path: Path) -> None:
    model, path = convolution(tmp_path / "net.onnx"), tmp_path / "net.tandem"
    result = run(model, "-o", path, "--quantize", "none", "--json")
    assert result.exit_code == 0, result.stderr
    written = json.loads(result.stdout)
    assert [*written] == [*("artifact", "operators", "seconds", "calibration", "round_trips")]
    assert written["artifact"] == str(path)
    assert written["operators"][0]["op"] == "conv2d+relu"
    assert all(each["device"] == "cpu" for each in written["operators"])
    reason = (
        "conv2d: its data is float32, not int8: quantisation, by --quantize multiplier or pow2, "
        "would help; relu: the accelerator has no schedule template for it"
    )
    assert [*written["operators"][0]] == ["name", "op", "device", "reason", "shapes"]
    assert written["operators"][0]["reason"] == reason
    assert written["seconds"] > 0
    manifest = read_artifact(path).manifest
    assert len(manifest.steps) == len(written["operators"])
    assert [each.name for each in manifest.inputs] == ["image"]
    assert [each.name for each in manifest.results] == ["out:0"]
    assert manifest.provenance.model == "net.onnx"
    assert manifest.provenance.options["quantise"] == "none"
    assert {"llvmlite", "numpy", "onnx"} <= manifest.provenance.tools.keys()


def test_options_of_the_accelerator_for_the_cpu(tmp_path: Path) -> None:
    path = tmp_path / "net.tandem"
    for option in (["--config", "pynq"], ["--memory", "fast"], ["--no-latency-hiding"]):
        message = f"{option[0]} is for --device accelerator"
        refused(message, "none.onnx", "-o", path, "--device", "cpu", *option)


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "net.tandem"
    result = run(convolution(tmp_path / "net.onnx"), "-o", path, "--quantize", "none")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"{path}: ")
    assert f"{path.stat().st_size:,} bytes" in result.stdout


def test_why_operators_are_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # So that no reason folds.
    model, path = convolution(tmp_path / "net.onnx"), tmp_path / "net.tandem"
    result = run(model, "-o", path, "--config", "tiny", "--explain")
    assert result.exit_code == 0, result.stderr
    summary, _, head, *rows = result.stdout.splitlines()
    assert summary.startswith(f"{path}: ")
    assert head.split("  ")[0] == "layer"
    column = head.index("on the CPU")
    found = json.loads(run(model, "-o", path, "--config", "tiny", "--json").stdout)["operators"]
    reasons = {
        step["op"]: f"{step['shapes']}; {step['reason']}"
        for step in found
        if step["device"] == "cpu"
    }
    assert {each["reason"] for each in found if each["device"] == "accelerator"} == {None}
    # The shapes and each reason of a step have lines of their own.
    names, lines = zip(*((row[column:].split("  ")[0], row.strip()) for row in rows), strict=True)
    assert [*filter(None, names)] == [op.replace("+", " + ") for op in reasons]
    wanted = [part for why in reasons.values() for part in why.split("; ")]
    assert all(row.endswith(part) for row, part in zip(lines, wanted, strict=True))
    refused(
        "--explain is for --device accelerator", model, "-o", path, "--device", "cpu", "--explain"
    )


def test_it_is_quantised_unless_told_otherwise(tmp_path: Path) -> None:
    model = convolution(tmp_path / "net.onnx")
    np.save(tmp_path / "images.npy", np.ones((3, 3, 8, 8), np.float32))
    for options, mode in (
        (["--quantize", "pow2"], "pow2"),
        (["--calibrate", tmp_path / "images.npy"], "multiplier"),
    ):
        result = run(model, "-o", tmp_path / "net.tandem", *options)
        assert result.exit_code == 0, result.stderr
        manifest = read_artifact(tmp_path / "net.tandem").manifest
        assert manifest.provenance.options["quantise"] == mode
        assert any("requantise" in each.operators for each in manifest.steps)
        assert any(each.dtype == "int8" for each in manifest.tensors)


def test_a_batch_that_is_open_is_one(tmp_path: Path) -> None:
    model = convolution(tmp_path / "net.onnx", ("N", 3, 8, 8))
    assert run(model, "-o", tmp_path / "a", "--quantize", "none").exit_code == 0
    assert read_artifact(tmp_path / "a").manifest.tensors[0].shape == (1, 3, 8, 8)
    wide = convolution(tmp_path / "net.onnx", ("N", 3, "H", "W"))
    refused(
        "image is float32[1, 3, H, W], and H, W could be any number", wide, "-o", tmp_path / "b"
    )
    assert not (tmp_path / "b").exists()


def test_what_it_refuses(tmp_path: Path) -> None:
    model, path = convolution(tmp_path / "net.onnx"), tmp_path / "net.tandem"
    refused("none.onnx: No such file", tmp_path / "none.onnx", "-o", path)
    refused("No such file or directory", model, "-o", tmp_path / "no" / "net.tandem")
    refused("--calibrate is for", model, "-o", path, "--quantize", "none", "--calibrate", model)
    refused("inputs are files that end in", model, "-o", path, "--calibrate", model)
    (tmp_path / "junk").write_bytes(b"no model")
    refused("is no ONNX model", tmp_path / "junk", "-o", path)
    graph = helper.make_graph([helper.make_node("Nothing", [], ["y"], name="n")], "g", [], [])
    odd = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "odd.onnx").write_bytes(odd.SerializeToString())
    refused("Nothing", tmp_path / "odd.onnx", "-o", path)
    assert not path.exists()
    assert run(model, "-o", path, "--quantize", "int4").exit_code == 2


def test_ctrl_c_on_a_terminal_leaves_no_file(tmp_path: Path) -> None:
    # It has seconds to do from there.
    arguments = ["compile", "resnet18", "-o", "net.tandem"]
    assert interrupted(arguments, b"calibrating", tmp_path) == b""
    assert list(tmp_path.iterdir()) == []


def test_the_same_model_makes_the_same_file(tmp_path: Path) -> None:
    model = convolution(tmp_path / "net.onnx")
    for name in ("a", "b"):
        assert run(model, "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

"""`tandem tune --explorer sketches` on the accelerator: from a network to records, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from typer.testing import CliRunner

from tandem.compiler.tune.records import read_records
from tandem.scripts.cli import app
from tests.support.compiler.frontends.onnx_models import model

TINY = ("--config", "tiny-x", "--memory", "edge")
LAYER = ("--layer", "a=4,4,8,8,3,1,1", "--config", "small8")


def answer(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A product of stacks of two shapes, which no template takes, and a convolution."""
    weights = np.random.default_rng(0).normal(size=(12, 8, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["a", "b"], ["c"]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    inputs: dict[str, Sequence[int | str | None]]
    inputs = {"a": [2, 3, 6, 10], "b": [3, 10, 9], "x": [1, 8, 6, 6]}
    onnx.save(model(nodes, inputs, ["d", "y"], {"w": weights}), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def test_a_network_is_tuned_and_runs_by_its_records(network: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    sketches = ("tune", network, *TINY, "--explorer", "sketches", "--records", records)
    found = answer(*sketches, "--trials", 4, "--jobs", 1)
    product, _ = found["tasks"]
    assert {task["template"] for task in found["tasks"]} == {"array_sketches"}
    assert product["layers"] == ["d"]
    assert all(task["best"] <= task["default"] for task in found["tasks"])
    # Without a template the first choice is a sketch, beside one it is the template's own.
    kept, _ = read_records(records)
    defaults = [record.choice for record in kept if record.explorer == "default"]
    assert [bool(choice) for choice in defaults] == [True, False]
    assert found["total"]["best"] <= found["total"]["default"]
    assert answer(*sketches, "--trials", 4, "--jobs", 1)["tasks"] == found["tasks"]

    run = ("run", network, *TINY, "--check")
    own, recorded = answer(*run), answer(*run, "--records", records)
    assert {layer["name"]: layer["device"] for layer in own["layers"]}["d"] == "cpu"
    assert recorded["cycles"] == found["total"]["best"]
    streams = [layer["name"] for layer in recorded["layers"] if layer["device"] == "accelerator"]
    assert streams == ["d", "y"]
    assert recorded["tuned"][0]["choice"] == product["choice"]
    shown = answer(*sketches, "--show")["tasks"]
    assert [row["best"] for row in shown] == [task["best"] for task in found["tasks"]]


def test_layers_have_sketches_too(tmp_path: Path) -> None:
    arguments = ("tune", *LAYER, "--explorer", "sketches", "--trials", 2, "--jobs", 1)
    (task,) = answer(*arguments, "--records", tmp_path / "records.jsonl")["tasks"]
    assert task["template"] == "array_sketches"
    assert task["name"] == "a"
    assert task["best"] <= task["default"]

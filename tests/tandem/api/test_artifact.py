"""Artifacts: saved, loaded, explained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

import tandem
from tandem.runtime.errors import ArtifactError
from tandem.scripts.cli import app
from tandem.workbench.errors import ArgumentTypeError


def test_saved_and_loaded(artifact: tandem.Artifact, tmp_path: Path) -> None:
    artifact.save(str(tmp_path / "net.tandem"))
    loaded = tandem.Artifact.load(tmp_path / "net.tandem")
    assert repr(loaded) == repr(artifact)
    runs = [tandem.Session(one).run(one.noise(5)) for one in (artifact, loaded, loaded.on_cpu())]
    assert runs[0].cycles == runs[1].cycles
    assert runs[2].cycles is None
    assert (runs[0]["out:0"] == runs[1]["out:0"]).all()
    assert (runs[0]["out:0"] == runs[2]["out:0"]).all()


def test_every_operator_has_a_device_or_a_reason(artifact: tandem.Artifact) -> None:
    steps = artifact.explain()
    on_accelerator = [row for row in steps if row["device"] == "accelerator"]
    assert [row["reason"] for row in on_accelerator] == [None] * len(on_accelerator)
    assert any("conv2d" in str(row["operators"]) for row in on_accelerator)
    on_cpu = [row for row in steps if row["device"] == "cpu"]
    assert all(row["reason"] for row in on_cpu)
    assert [row["shapes"] for row in on_accelerator] == [None] * len(on_accelerator)
    assert on_cpu[0]["shapes"] == "float32[1, 3, 8, 8] -> int8[1, 3, 8, 8]"
    # 6 channels of 3 x 3 x 3 products at 8 x 8 places
    assert steps["macs"].sum() == 6 * 27 * 64


def test_round_trips(tmp_path: Path) -> None:
    """A convolution, a sigmoid on the CPU, and another convolution; as `tandem compile` has it."""
    arrays = {"w": np.ones((4, 4, 1, 1), np.float32) / 8}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Sigmoid", ["c"], ["s"]),
        helper.make_node("Conv", ["s", "w"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4, 4, 4]) for n in "xy"]
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "trips", ports[:1], ports[1:], weights)
    path = tmp_path / "trips.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), str(path))
    image = np.random.default_rng(1).standard_normal((1, 4, 4, 4)).astype(np.float32)
    np.save(tmp_path / "image.npy", image)
    found = tandem.compile(path, "tiny", calibrate=image).round_trips
    options = ["--config", "tiny", "--calibrate", str(tmp_path / "image.npy"), "--json"]
    arguments = ["compile", str(path), *options, "-o", str(tmp_path / "trips.tandem")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    (printed,) = json.loads(done.stdout)["round_trips"]
    assert found[0] == {"operators": printed.pop("op"), **printed}
    assert "sigmoid" in found["operators"][0]


def test_ports(artifact: tandem.Artifact) -> None:
    assert artifact.inputs[0] == {"name": "image", "dtype": "float32", "shape": "[1, 3, 8, 8]"}
    assert artifact.outputs[0] == {"name": "out:0", "dtype": "float32", "shape": "[1, 6]"}
    assert (artifact.name, artifact.machine) == ("net.onnx", "tiny")


def test_noise_is_seeded(artifact: tandem.Artifact) -> None:
    assert (artifact.noise(1)["image"] == artifact.noise(1)["image"]).all()
    assert (artifact.noise(1)["image"] != artifact.noise(2)["image"]).any()


def test_refusals(tmp_path: Path, artifact: tandem.Artifact) -> None:
    with pytest.raises(ArtifactError, match="No such file"):
        tandem.Artifact.load(tmp_path / "no.tandem")
    with pytest.raises(ArtifactError, match="No such file"):
        artifact.save(tmp_path / "no" / "net.tandem")
    with pytest.raises(ArgumentTypeError, match="path is 3: it must be a path"):
        tandem.Artifact.load(3)  # type: ignore[arg-type]

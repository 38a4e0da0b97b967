"""Inputs whose values have to be known, and inputs of 16 bits, from the command line."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app

ON_CPU = ("--quantize", "none", "--device", "cpu")


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A reshape to the shape that an input gives, with files of its inputs."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("Neg", ["r"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6]),
            helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])],
    )
    opset = helper.make_opsetid("", 17)
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    np.save(tmp_path / "x.npy", np.arange(12, dtype=np.float32).reshape(2, 6))
    np.save(tmp_path / "shape.npy", np.array([3, 4]))
    np.savez(tmp_path / "shape.npz", shape=np.array([3, 4]))
    return path


def files(folder: Path, *names: str) -> list[object]:
    return [part for name in names for part in ("--input", folder / name)]


@pytest.mark.parametrize("names", [("x.npy", "shape.npy"), ("shape.npz", "x.npy")])
def test_a_run(model: Path, names: tuple[str, ...]) -> None:
    out = model.with_name("out.npz")
    result = tandem("run", model, *files(model.parent, *names), "--output", out, *ON_CPU)
    assert result.exit_code == 0, result.stderr
    with np.load(out) as found:
        np.testing.assert_array_equal(found["y"], -np.arange(12, dtype=np.float32).reshape(3, 4))


def test_an_artifact(model: Path) -> None:
    """Its inputs are those that are left."""
    artifact = model.with_name("net.tandem")
    shape = files(model.parent, "shape.npz")
    assert tandem("compile", model, "-o", artifact, *shape, *ON_CPU).exit_code == 0
    run = tandem("run", artifact, *files(model.parent, "x.npy"), "--device", "cpu")
    assert run.exit_code == 0, run.stderr
    assert "y: float32[3, 4]" in run.stdout


def test_refusals(model: Path) -> None:
    run = tandem("run", model, *ON_CPU)
    assert run.exit_code == 1
    assert "operand shape has to be known when the model is imported" in run.stderr
    assert "depends on inputs: shape" in run.stderr
    both = files(model.parent, "x.npy", "shape.npy")
    compiled = tandem("compile", model, "-o", model.with_name("net.tandem"), *both, *ON_CPU)
    assert compiled.exit_code == 1
    assert "--input: x is an input of `tandem run`" in compiled.stderr


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_floats_of_16_bits(tmp_path: Path, name: str) -> None:
    """In and out of an artifact."""
    number = getattr(TensorProto, name.upper())
    dtype = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["s"]), helper.make_node("Exp", ["s"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", number, [3, 5])],
        [helper.make_tensor_value_info("y", number, [3, 5])],
    )
    opset = helper.make_opsetid("", 17)
    model, artifact = tmp_path / "net.onnx", tmp_path / "net.tandem"
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), model)
    assert tandem("compile", model, "-o", artifact, *ON_CPU).exit_code == 0
    run = tandem("run", artifact, "--device", "cpu", "--output", tmp_path / "out.npz", "--seed", 1)
    assert run.exit_code == 0, run.stderr
    assert f"y: {name}[3, 5]" in run.stdout
    noise = np.random.default_rng(1).standard_normal((3, 5)).astype(dtype)
    with np.load(tmp_path / "out.npz") as found:
        twice = (noise.astype(np.float32) * 2).astype(dtype).astype(np.float32)
        wanted = np.exp(twice).astype(dtype)
        np.testing.assert_array_equal(found["y"].view(np.uint16), wanted.view(np.uint16))

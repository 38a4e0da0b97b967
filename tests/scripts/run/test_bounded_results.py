"""Networks whose results have as many elements as inputs say, from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution, the positions of its results that are greater than 0, and these results."""
    weight = np.random.default_rng(0).standard_normal((4, 2, 1, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"]),
        helper.make_node("Greater", ["y", "zero"], ["g"]),
        helper.make_node("NonZero", ["g"], ["p"]),
        helper.make_node("Transpose", ["p"], ["t"]),
        helper.make_node("GatherND", ["y", "t"], ["v"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 3, 3])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 3, 3]),
            helper.make_tensor_value_info("p", TensorProto.INT64, [4, "c"]),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, ["c"]),
        ],
        [
            numpy_helper.from_array(weight, "w"),
            numpy_helper.from_array(np.zeros((), np.float32), "zero"),
        ],
    )
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def test_on_the_accelerator(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    result = tandem("run", model, "--config", "tiny", "--check", "--output", out)
    assert result.exit_code == 0, result.output
    with np.load(out) as found:
        positions = np.stack(np.nonzero(found["y"] > 0))
        np.testing.assert_array_equal(found["p"], positions)
        np.testing.assert_array_equal(found["v"], found["y"][tuple(positions)])
        assert 0 < found["v"].size < found["y"].size


def test_an_artifact(model: Path, tmp_path: Path) -> None:
    compiled, out = tmp_path / "net.tandem", tmp_path / "out.npz"
    assert tandem("compile", model, "--device", "cpu", "--output", compiled).exit_code == 0
    result = tandem("run", compiled, "--output", out)
    assert result.exit_code == 0, result.output
    with np.load(out) as found:
        assert found["p"].shape == (4, int((found["y"] > 0).sum()))

"""`tandem train`: from a file of samples to a model that `tandem run` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from typer.testing import CliRunner

from tandem.scripts.cli import app

BATCH = 8


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["train", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def save_samples(path: Path, arrays: Mapping[str, NDArray[Any]]) -> Path:
    kept: dict[str, Any] = {**arrays}
    with path.open("wb") as file:
        np.savez(file, **kept)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two dense layers between two inputs and two classes, for any number of samples."""
    return save_model(tmp_path / "model.onnx", "n")


def save_model(path: Path, batch: str | int) -> Path:
    random = np.random.default_rng(0)
    weights = {
        name: (0.3 * random.standard_normal(shape)).astype(np.float32)
        for name, shape in {"w": (2, 6), "b": (6,), "v": (6, 2)}.items()
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Add", ["h", "b"], ["s"]),
        helper.make_node("Relu", ["s"], ["a"]),
        helper.make_node("MatMul", ["a", "v"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "two_layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 2])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """Points, and on which side of the diagonal they are."""
    x = np.random.default_rng(1).standard_normal((80, 2)).astype(np.float32)
    return save_samples(tmp_path / "samples.npz", {"x": x, "target": x[:, 0] > x[:, 1]})


@pytest.fixture
def options(model: Path, samples: Path) -> tuple[object, ...]:
    how = ("--rate", 0.05, "--batch", BATCH, "--held-out", 16, "--threads", 1, "--seed", 3)
    return (model, "--data", samples, *how)


def test_the_model_that_is_written_is_the_trained_one(
    options: tuple[object, ...], samples: Path, tmp_path: Path
) -> None:
    output, page = tmp_path / "trained.onnx", tmp_path / "page.html"
    code, printed, errors = invoke(
        *options, "--epochs", 12, "-o", output, "--report", page, "--json"
    )
    assert code == 0, errors
    found = json.loads(printed)
    assert found["model"] == str(output)
    assert len(found["loss"]) == 12
    assert found["loss"][-1] < found["loss"][0]
    assert "<html" in page.read_text()
    assert "intermediate values" in page.read_text()
    # ONNX's own evaluator computes as many right answers of all samples as a trained model has to.
    with np.load(samples) as arrays:
        x, target = arrays["x"], arrays["target"]
    session = ReferenceEvaluator(onnx.load(output))
    scores = np.concatenate(
        [np.asarray(next(iter(session.run(None, {"x": row[None]})))) for row in x]
    )
    assert (scores.argmax(1) == target).mean() > 0.9
    assert found["accuracy"] > 0.8


def test_a_checkpoint_is_gone_on_from(options: tuple[object, ...], tmp_path: Path) -> None:
    whole, parts, state = (tmp_path / name for name in ("whole.onnx", "parts.onnx", "state"))
    assert invoke(*options, "--epochs", 4, "-o", whole)[0] == 0
    kept = ("--checkpoint", state, "--checkpoint-seconds", 0)
    code, text, errors = invoke(*options, "--epochs", 4, *kept, "-o", parts)
    assert code == 0, errors
    assert "held-out samples right" in text
    assert parts.read_bytes() == whole.read_bytes()
    # It is at its end: nothing is trained again, and nothing is different.
    again = tmp_path / "again.onnx"
    assert invoke(*options, "--epochs", 4, *kept, "-o", again)[0] == 0
    assert again.read_bytes() == whole.read_bytes()
    # One of another training is refused.
    code, _, errors = invoke(*options, "--epochs", 4, "--decay", 0.5, *kept, "-o", again, "--force")
    assert code == 1
    assert len(errors.strip().splitlines()) == 1


def test_a_full_disk_at_the_last_checkpoint_loses_no_model(
    options: tuple[object, ...], tmp_path: Path
) -> None:
    whole, output, page = (tmp_path / name for name in ("whole.onnx", "full.onnx", "page.html"))
    assert invoke(*options, "--epochs", 2, "-o", whole)[0] == 0
    given = (*options, "--epochs", 2, "--checkpoint", "/dev/full", "-o", output, "--report", page)
    code, printed, errors = invoke(*given)
    assert (code, printed) == (1, "")
    assert errors.strip().splitlines()[-1] == (
        f"error: {output} is written, but no last checkpoint: [Errno 28] No space left on device: "
        "'/dev/full'"
    )
    assert output.read_bytes() == whole.read_bytes()
    assert page.stat().st_size


def test_a_limit_of_memory(options: tuple[object, ...], tmp_path: Path) -> None:
    output = tmp_path / "limited.onnx"
    given = (*options, "--epochs", 1, "-o", output)
    code, printed, errors = invoke(*given, "--memory-limit", "1MB", "--json")
    assert code == 0, errors
    assert 0 < json.loads(printed)["memory"] <= 1e6
    code, _, errors = invoke(*given, "--memory-limit", "100B", "--force")
    assert (code, len(errors.strip().splitlines())) == (1, 1)
    assert "a step does not fit in 100 bytes: " in errors
    code, _, errors = invoke(*given, "--memory-limit", "much", "--force")
    assert code == 2
    assert "a number of bytes" in errors


def test_wrong_samples(model: Path, tmp_path: Path) -> None:
    x = np.zeros((20, 2), np.float32)
    cases: dict[str, dict[str, NDArray[Any]]] = {
        "no target": {"x": x},
        "shape": {"x": np.zeros((20, 3), np.float32), "target": np.zeros(20, np.int64)},
        "rows": {"x": x, "target": np.zeros(19, np.int64)},
        "class": {"x": x, "target": np.full(20, 2)},
    }
    output = tmp_path / "trained.onnx"
    for name, arrays in cases.items():
        path = save_samples(tmp_path / f"{name}.npz", arrays)
        code, _, errors = invoke(model, "--data", path, "-o", output, "--epochs", 1)
        assert code == 1, name
        assert len(errors.strip().splitlines()) == 1, errors
        assert not output.exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut"])
def test_files_that_are_no_samples(model: Path, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "samples.npz"
    path.write_bytes(content)
    code, _, errors = invoke(model, "--data", path, "-o", tmp_path / "out.onnx")
    assert code == 1
    assert "samples.npz" in errors
    assert "internal" not in errors


def test_a_model_of_one_sample(samples: Path, tmp_path: Path) -> None:
    model, output = save_model(tmp_path / "one.onnx", 1), tmp_path / "out.onnx"
    how = (model, "--data", samples, "--steps", 4, "--held-out", 2, "-o", output)
    code, _, errors = invoke(*how, "--batch", 8)
    assert code == 1
    assert "the network takes batches of 1, unless its first extent is open" in errors
    code, _, errors = invoke(*how)
    assert code == 0, errors


def test_another_open_extent_is_stated(tmp_path: Path) -> None:
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "length", 1]) for name in "xy"
    ]
    # A weight that is a single number.
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "scaled",
        values[:1],
        values[1:],
        [numpy_helper.from_array(np.ones((1, 1), np.float32), "w")],
    )
    model = tmp_path / "open.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), model)
    x = np.random.default_rng(0).standard_normal((40, 3, 1)).astype(np.float32)
    data = save_samples(tmp_path / "samples.npz", {"x": x, "target": 2 * x})
    output = tmp_path / "out.onnx"
    how = (model, "--data", data, "--loss", "mse", "--rate", 0.1, "--batch", 8, "-o", output)
    code, _, errors = invoke(*how, "--epochs", 20, "--shape", "length=3")
    assert code == 0, errors
    (found,) = onnx.load(output).graph.initializer
    assert numpy_helper.to_array(found).item() == pytest.approx(2, abs=0.1)


def test_what_no_training_is(options: tuple[object, ...], tmp_path: Path) -> None:
    output = tmp_path / "out.onnx"
    assert invoke(*options, "--loss", "hinge", "-o", output)[0] == 2
    wrongs = (
        *(("--rate", -1), ("--held-out", 80), ("--freeze", "q"), ("--minutes", 0)),
        *(("--decay", "inf"), ("--clip", "inf"), ("--batch", 10**20)),
    )
    for wrong in wrongs:
        code, _, errors = invoke(*options, *wrong, "-o", output)
        assert code in (1, 2), wrong
        assert "internal" not in errors
        assert not output.exists()

"""`tandem run --accuracy` and `--labels`, and the warning about noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner, Result

from tandem.compiler import models
from tandem.compiler.models import built_in
from tandem.scripts.calibration import NOISE
from tandem.scripts.cli import app
from tests.support.compiler.models.models import convolution

SAMPLES = 24
DATA = Path(models.__file__).with_name("digits.npz")


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "100"})


def refused(message: str, *arguments: object) -> None:
    result = tandem("run", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr


def run(*arguments: object) -> dict[str, Any]:
    result = tandem("run", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`digits` as a user's file, images and labels: the first ones of the model's test set."""
    made = tmp_path_factory.mktemp("digits")
    onnx.save(built_in("digits", 0), made / "net.onnx")
    with np.load(DATA) as data:
        np.save(made / "x.npy", (data["images"][:SAMPLES] / 16).astype(np.float32))
        np.save(made / "calibration.npy", (data["calibration"] / 16).astype(np.float32))
        # A few labels are wrong, so that not all are found.
        wrong = data["labels"][:SAMPLES].astype(np.int64)
        wrong[::5] = (wrong[::5] + 1) % 10
        np.savetxt(made / "labels.txt", wrong, fmt="%d")
    return made


def test_labels_against_a_count_by_hand(folder: Path) -> None:
    """Of the scores that the same run writes; in float32 of a run without quantisation."""
    found: dict[str, dict[str, float]] = {}
    accuracy: dict[str, object] = {}
    for name, mode in (("int8", "multiplier"), ("float32", "none")):
        out = folder / f"{name}.npz"
        files = ("--input", folder / "x.npy", "--labels", folder / "labels.txt", "--output", out)
        accuracy[name] = run("digits", "--device", "cpu", "--quantize", mode, *files)["accuracy"]
        with np.load(out) as scores:
            (output,) = scores.values()
        found[name] = by_hand(output, np.loadtxt(folder / "labels.txt", dtype=int))
    assert accuracy == {"int8": found, "float32": {"float32": found["float32"], "int8": None}}
    assert 0 < found["int8"]["top1"] < 1, "some labels are wrong"


def by_hand(scores: NDArray[Any], labels: NDArray[Any]) -> dict[str, float]:
    """Samples whose label is among the greatest scores."""
    top1 = top5 = 0
    for row, label in zip(scores, labels, strict=True):
        ranked = sorted(range(len(row)), key=lambda at: -row[at])
        top1 += ranked[0] == label
        top5 += label in ranked[:5]
    return {"top1": top1 / len(scores), "top5": top5 / len(scores), "samples": len(scores)}


def test_layers_on_the_accelerator(folder: Path) -> None:
    """Every layer that multiplies has both figures; `layer_errors` has all, the worst first."""
    found = run(folder / "net.onnx", "--accuracy", "--engine", "functional")
    layers = [each for each in found["layers"] if each["macs"] or each["op"] == "quantise"]
    assert len(layers) == 11
    assert all(each["own_sqnr"] >= each["sqnr"] - 0.5 > 10 for each in layers)
    own = [each["own_sqnr"] for each in found["layer_errors"]]
    assert own == sorted(own)
    by_name = {each["name"]: each for each in found["layer_errors"]}
    own_sqnr = {each["name"]: each["own_sqnr"] for each in layers}
    assert by_name["Relu_output_0"]["own_sqnr"] == own_sqnr["Relu_output_0"]
    assert "accuracy" not in found


def test_text(folder: Path) -> None:
    result = tandem(
        *("run", folder / "net.onnx", "--device", "cpu", "--accuracy"),
        *("--input", folder / "x.npy", "--labels", folder / "labels.txt"),
    )
    assert result.exit_code == 0, result.stderr
    text = result.stdout
    assert "each layer against float32, 24 batches, worst first:" in text
    assert "clipped: results at the limits of int8" in text
    assert [line.split()[0] for line in text.splitlines() if line.endswith(f" {SAMPLES}")] == [
        "float32",
        "int8",
    ]
    assert f"warning: {NOISE}" in " ".join(text.split())


def test_calibration(tmp_path: Path) -> None:
    """A warning for a file of the user's that is calibrated with noise; JSON has it always."""
    net, images = convolution(tmp_path / "net.onnx"), tmp_path / "images.npy"
    np.save(images, np.ones((2, 3, 8, 8), np.float32))
    cases: list[tuple[list[object], str | None, bool]] = [
        ([net], "noise", True),
        ([net, "--calibrate", images], "given", False),
        ([net, "--quantize", "none"], None, False),
        (["digits"], "noise", False),
    ]
    for arguments, wanted, warns in cases:
        out = tmp_path / "out.tandem"
        options = ["--device", "cpu", "-o", out, "--force"]
        assert (NOISE in tandem("compile", *arguments, *options).stderr) == warns
        # The artifact knows it.
        assert run(out)["calibration"] == wanted
        assert ("warning: " in tandem("run", out).stdout) == warns
    written = tandem("compile", net, "-o", tmp_path / "json.tandem", "--device", "cpu", "--json")
    assert (written.exit_code, written.stderr) == (0, "")
    assert json.loads(written.stdout)["calibration"] == "noise"


def test_what_to_do(folder: Path) -> None:
    """Clipping by a scale that is too small, and zeros alone; nothing of a layer that is fine."""
    small, zeros = folder / "small.npy", folder / "zeros.npy"
    with np.load(DATA) as data:
        images = (data["calibration"] / 16).astype(np.float32)
    np.save(small, images / 8)
    np.save(zeros, images * 0)
    texts = {}
    for name in ("calibration", "small", "zeros"):
        result = tandem(
            *("run", folder / "net.onnx", "--device", "cpu", "--accuracy"),
            *("--input", folder / "x.npy", "--calibrate", folder / f"{name}.npy"),
        )
        assert result.exit_code == 0, result.stderr
        texts[name] = " ".join(result.stdout.split())
    assert "--keep-float" not in texts["calibration"]
    assert "of its results are at the limits of int8, so that its scale" in texts["small"]
    assert "warning: calibrated with zeros: every value of input was 0" in texts["zeros"]
    assert "errors of half the values' size and more" in texts["zeros"]
    assert "below 6 dB" not in texts["calibration"]


def test_refusals(folder: Path) -> None:
    net, labels, x = folder / "net.onnx", folder / "labels.txt", folder / "x.npy"
    on_cpu = ("--device", "cpu")
    refused("--quantize none has no int8", net, "--accuracy", "--quantize", "none")
    refused("which --input names", net, "--labels", labels)
    refused(
        "has 24 labels, and --input 1 samples", net, "--labels", labels, "--input", one(x), *on_cpu
    )
    refused("No such file", net, "--labels", folder / "none.txt", "--input", x)
    out = folder / "refused.tandem"
    assert tandem("compile", net, "-o", out, *on_cpu).exit_code == 0
    refused("has no float32 network inside to compare with", out, "--accuracy")
    # Labels need no float32.
    found = run(out, "--labels", labels, "--input", x)["accuracy"]
    assert found["float32"] is None
    assert found["int8"]["samples"] == SAMPLES


def one(path: Path) -> Path:
    """A file with the first sample of another."""
    made = path.with_name("one.npy")
    np.save(made, np.load(path)[:1])
    return made


def test_a_model_that_states_its_own_scales(tmp_path: Path) -> None:
    """Float32 is what ONNX defines: the numbers rounded where the model says. Scales of 1, and
    whole numbers, so that integers lose nothing."""
    given: dict[str, NDArray[Any]] = {
        "s": np.array(1, np.float32),
        "z": np.array(0, np.int8),
        "w": np.array([[1, 2], [3, -4], [5, 6]], np.int8).T,
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["v"]),
        helper.make_node("MatMul", ["d", "v"], ["m"]),
        helper.make_node("QuantizeLinear", ["m", "s", "z"], ["p"]),
        helper.make_node("DequantizeLinear", ["p", "s", "z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
        [numpy_helper.from_array(array, name) for name, array in given.items()],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), tmp_path / "q.onnx")
    # [2.4, 1] rounds to [2, 1]: scores 4, 2, 16. [-3, 1]: -1, -13, -9.
    np.save(tmp_path / "x.npy", np.array([[2.4, 1], [-3, 1]], np.float32))
    (tmp_path / "labels.csv").write_text("2,2\n")
    arguments = (tmp_path / "q.onnx", "--device", "cpu", "--input", tmp_path / "x.npy")
    found = run(*arguments, "--accuracy", "--labels", tmp_path / "labels.csv")
    hits = {"top1": 0.5, "top5": 1.0, "samples": 2}
    assert found["accuracy"] == {"float32": hits, "int8": hits}
    assert found["calibration"] is None
    assert found["layer_errors"]
    assert all(each["sqnr"] is each["own_sqnr"] is None for each in found["layer_errors"])
    text = tandem("run", *arguments, "--accuracy").stdout
    assert "against the model's own real numbers, rounded where it says" in " ".join(text.split())
    assert "no error" in text

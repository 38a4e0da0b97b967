"""Models that leave shapes open, from the command line; values are those of ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import typer
from numpy.typing import NDArray
from onnx import TensorProto, helper
from typer.testing import CliRunner, Result

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tandem.runtime.artifact import read_artifact
from tandem.scripts.cli import app
from tandem.scripts.shapes import parse_shape
from tests.support.compiler.frontends.onnx_runs import rival_outputs
from tests.support.compiler.models.models import convolution

Array = NDArray[Any]
make = helper.make_node
ON_CPU = ("--quantize", "none", "--device", "cpu")
RNG = np.random.default_rng(5)


def tandem(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def refused(message: str, *arguments: object) -> None:
    result = tandem(*arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr


def noise(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def opened(folder: Path, shape: Sequence[int | str | None] | None) -> Path:
    """A convolution of three channels whose image is declared so."""
    path = convolution(folder / "net.onnx", (1, 3, 8, 8))
    model = onnx.load(path)
    info = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)
    model.graph.input[0].CopyFrom(info)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    return path


def through_shapes(folder: Path) -> Path:
    """An open batch through `Shape`, casts to int32 and back, and a concatenation."""
    path = convolution(folder / "net.onnx", ("N", 3, 8, 8))
    model = onnx.load(path)
    del model.graph.node[-2:]
    model.graph.node.extend(
        [
            make("Shape", ["r"], ["s"]),
            make("Cast", ["s"], ["narrow"], to=TensorProto.INT32),
            make("Slice", ["narrow", "start", "end"], ["first"]),
            make("Cast", ["first"], ["wide"], to=TensorProto.INT64),
            make("Concat", ["wide", "rest"], ["target"], axis=0),
            make("Reshape", ["r", "target"], ["out:0"]),
        ]
    )
    for name, number in (("start", 0), ("end", 1), ("rest", -1)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([number]), name))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "features"
    onnx.save(model, path)
    return path


def outputs(path: Path, *arguments: object) -> Array:
    out = path.with_name("out.npz")
    result = tandem("run", path, "--output", out, "--force", *arguments)
    assert result.exit_code == 0, result.stderr
    with np.load(out) as found:
        (array,) = found.values()
        return np.asarray(array)


def wanted(path: Path, image: Array) -> Array:
    (found,) = rival_outputs(onnx.load(path), {"image": image})
    return found


def saved(folder: Path, name: str, array: Array) -> Path:
    np.save(folder / name, array)
    return folder / name


@pytest.mark.parametrize(
    "declared", [["n", 3, "h", "w"], [-1, 3, -1, -1], [None, 3, None, None], ["?"] * 4, None]
)
def test_an_array_binds_what_is_open(tmp_path: Path, declared: Any) -> None:
    path, image = opened(tmp_path, declared), noise(1, 3, 16, 12)
    given = ("--input", saved(tmp_path, "x.npy", image))
    np.testing.assert_allclose(outputs(path, *given, *ON_CPU), wanted(path, image), 1e-5, 1e-5)


def test_on_the_accelerator(tmp_path: Path) -> None:
    path, image = opened(tmp_path, ["n", 3, "h", "w"]), noise(1, 3, 16, 12)
    given = ("--input", saved(tmp_path, "x.npy", image), "--engine", "functional")
    found = tandem("run", path, *given, "--check", "--json")
    assert found.exit_code == 0, found.stderr
    written = json.loads(found.stdout)
    assert written["check"]["equal"]
    assert written["sqnr"]["out:0"] > 25


def test_an_open_batch_through_shapes(tmp_path: Path) -> None:
    """One image, several images one after the other, and several as one batch."""
    path, images = through_shapes(tmp_path), noise(3, 3, 8, 8)
    expected = wanted(path, images)
    assert expected.shape == (3, 6 * 8 * 8)
    for count, stated in ((1, ()), (3, ()), (3, ("--shape", "image=3,3,8,8"))):
        given = ("--input", saved(tmp_path, "x.npy", images[:count]), *stated)
        found = outputs(path, *given, *ON_CPU)
        np.testing.assert_allclose(found, expected[:count], 1e-5, 1e-5)


def chosen(folder: Path) -> Path:
    """A branch for 16 kHz; the other reshapes to what does not fit."""
    target = onnx.numpy_helper.from_array(np.array([7, 11]), "target")

    def branch(node: onnx.NodeProto, *weights: onnx.TensorProto) -> onnx.GraphProto:
        info = helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)
        return helper.make_graph([node], node.output[0], [], [info], weights)

    nodes = [
        make("Equal", ["rate", "known"], ["same"]),
        make(
            "If",
            ["same"],
            ["y"],
            then_branch=branch(make("Neg", ["image"], ["t"])),
            else_branch=branch(make("Reshape", ["image", "target"], ["e"]), target),
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 4]),
            helper.make_tensor_value_info("rate", TensorProto.INT64, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.array(16000), "known")],
    )
    path = folder / "chosen.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_a_condition_that_an_input_decides(tmp_path: Path) -> None:
    path, image = chosen(tmp_path), noise(2, 4)
    rate = np.array(16000)
    (expected,) = rival_outputs(onnx.load(path), {"image": image, "rate": rate})
    x, r = saved(tmp_path, "x.npy", image), saved(tmp_path, "r.npy", rate)
    np.testing.assert_array_equal(outputs(path, "--input", x, "--input", r, *ON_CPU), expected)
    artifact = tmp_path / "chosen.tandem"
    np.savez(tmp_path / "r.npz", rate=rate)
    compiled = tandem("compile", path, "-o", artifact, "--input", tmp_path / "r.npz", *ON_CPU)
    assert compiled.exit_code == 0, compiled.stderr
    assert [each.name for each in read_artifact(artifact).manifest.inputs] == ["image"]
    refused("depends on inputs: rate; --input gives a value", "run", path, "--input", x, *ON_CPU)


def test_what_is_stated_is_kept_in_an_artifact(tmp_path: Path) -> None:
    path, artifact = opened(tmp_path, ["n", 3, "h", "w"]), tmp_path / "net.tandem"
    options = ("--shape", "image=2,3,16,12", *ON_CPU)
    assert tandem("compile", path, "-o", artifact, *options).exit_code == 0
    manifest = read_artifact(artifact).manifest
    assert manifest.tensors[0].shape == (2, 3, 16, 12)
    assert manifest.provenance.options["shapes"] == "image=2,3,16,12"
    by_name = ("--shape", "h=16", "--shape", "w=12", "--force", *ON_CPU)
    assert tandem("compile", path, "-o", artifact, *by_name).exit_code == 0
    assert read_artifact(artifact).manifest.tensors[0].shape == (1, 3, 16, 12)
    refused("--shape is for models", "run", artifact, "--shape", "h=16")


def test_calibration_binds_what_is_open(tmp_path: Path) -> None:
    """Samples in a file, and in a folder with a picture; a picture itself says nothing."""
    path, artifact = opened(tmp_path, ["n", 3, "h", "w"]), tmp_path / "net.tandem"
    samples = saved(tmp_path, "samples.npy", noise(4, 3, 16, 12))
    done = tandem("compile", path, "-o", artifact, "--calibrate", samples)
    assert done.exit_code == 0, done.stderr
    assert read_artifact(artifact).manifest.tensors[0].shape == (1, 3, 16, 12)
    other = saved(tmp_path, "x.npy", noise(1, 3, 16, 13))
    refused(
        "cannot be [?, ?, 16, 13] (--input): w is 12 by input image (--calibrate)",
        *("run", path, "--calibrate", samples, "--input", other),
    )


def test_refusals_name_the_options(tmp_path: Path) -> None:
    path = opened(tmp_path, ["n", 3, "h", "w"])
    for arguments in (("run", path), ("compile", path, "-o", tmp_path / "a"), ("tune", path)):
        refused("--shape image=1,3,h,w (numbers for h, w) or --shape h=N", *arguments)
    both = ("--shape", "image=1,3,9,12", "--shape", "w=13")
    refused("w is 12 by input image (--shape), and cannot be [13]", "run", path, *both)
    unknown = ("--shape", "picture=1,3,8,8")
    refused("the inputs are image, and open extents h, n, w", "run", path, *unknown)
    image = ("--input", saved(tmp_path, "x.npy", noise(1, 3, 16, 12)), *ON_CPU)
    said = "--shape image=1,3,16,12 states a shape alone"
    refused(said, "compile", path, "-o", tmp_path / "a", *image)


@pytest.mark.parametrize(
    "text", ["image", "image=", "=1,2", "image=1,x", "image=1,-1", "image=1 2"]
)
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not NAME=N,N"):
        parse_shape(text)


def test_names_may_have_any_characters() -> None:
    assert parse_shape("a=b:0=1,0").name == "a=b:0"
    assert parse_shape("a=b:0=1,0").extents == (1, 0)


def two_inputs(folder: Path) -> Path:
    """A product of two matrices whose rows and columns are open, with names of their own."""
    graph = helper.make_graph(
        [make("MatMul", ["image", "b"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("image", TensorProto.FLOAT, ["rows", 4]),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, [4, "columns"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    path = folder / "product.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_arrays_that_are_no_batches_are_one(tmp_path: Path) -> None:
    """A first extent that is open is the array's, where other arrays are fewer or more batches."""
    path, a, b = two_inputs(tmp_path), noise(3, 4), noise(4, 5)
    given = [saved(tmp_path, "a.npy", a), saved(tmp_path, "b.npy", b)]
    found = outputs(path, "--input", given[0], "--input", given[1], *ON_CPU)
    (expected,) = rival_outputs(onnx.load(path), {"image": a, "b": b})
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_tuning_and_searching(tmp_path: Path) -> None:
    path = opened(tmp_path, ["n", 3, "h", "w"])
    stated = ("--shape", "image=1,3,8,8")
    records = tmp_path / "records.jsonl"
    records.touch()
    tuned = tandem("tune", path, *stated, "--records", records, "--show", "--json")
    assert tuned.exit_code == 0, tuned.stderr
    assert json.loads(tuned.stdout)["tasks"]
    wrong = tandem("tune", "--layer", "a=4,4,8,8,3,1,1", *stated)
    assert wrong.exit_code == 2
    shown = tandem("utilization", path, *stated, "--config", "tiny", "--json")
    assert shown.exit_code == 0, shown.stderr
    assert json.loads(shown.stdout)["layers"][0]["macs"] == 8 * 8 * 6 * 3 * 9

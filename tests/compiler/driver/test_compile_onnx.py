"""From models to artifacts in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tandem.compiler.driver.compile_onnx import (
    Calibration,
    CompileOptions,
    compile_network,
    import_network,
    input_tensors,
    prepare_network,
)
from tandem.compiler.errors import BuildError
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.defaults import compile_options
from tandem.runtime.artifact import Artifact, Provenance, Tensor, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.runtime.native import ObjectCode
from tests.support.compiler.models.models import convolution
from tests.support.compiler.models.transformers import Transformer

HOST = cpu(CpuTarget.host(threads=1))
FLOAT = compile_options(quantise=None)


def rectifier(shape: list[int | str]) -> ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["in:0"], ["out:0"])],
        "g",
        [helper.make_tensor_value_info("in:0", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out:0", TensorProto.FLOAT, shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compiled(model: ModelProto, options: CompileOptions = FLOAT) -> Artifact:
    return compile_network(model, Provenance("relu", "digest", seed=5), options, [HOST])


def test_names_are_the_models() -> None:
    artifact = compiled(rectifier([2]))
    run = Executor(artifact, [CpuDevice(1)]).run({"in:0": np.array([-1, 2], np.float32)})
    assert run.outputs["out:0"].tolist() == [0, 2]
    assert artifact.manifest.name == "relu"


def test_where_it_comes_from() -> None:
    found = compiled(rectifier([2])).manifest.provenance
    assert (found.model, found.digest, found.seed) == ("relu", "digest", 5)
    assert found.options == {"quantise": "none"}
    assert {"llvmlite", "numpy", "onnx"} <= found.tools.keys()


def test_a_batch_that_is_open_is_one() -> None:
    assert compiled(rectifier(["N", 3])).manifest.tensors[0].shape == (1, 3)
    with pytest.raises(BuildError, match=r"input in:0 is float32\[1, M\], and M could be any"):
        compiled(rectifier(["N", "M"]))


def test_samples_are_asked_for_by_the_models_names(tmp_path: Path) -> None:
    model = ModelProto.FromString(convolution(tmp_path / "net.onnx").read_bytes())
    asked: list[tuple[Tensor, ...]] = []

    def samples(tensors: tuple[Tensor, ...]) -> list[dict[str, np.ndarray]]:
        asked.append(tensors)
        return [{"image": np.ones((1, 3, 8, 8), np.float32)}]

    artifact = compiled(model, compile_options(samples=samples))
    assert [[(each.name, str(each)) for each in them] for them in asked] == [
        [("image", "float32[1, 3, 8, 8]")]
    ]
    steps = {each.name: each.scale.step for each in artifact.manifest.tensors if each.scale}
    assert steps["image_int8"] == pytest.approx(1 / 127, rel=0.01)  # of ones
    assert artifact.manifest.provenance.options["quantise"] == "multiplier"


def test_one_network_for_two_targets() -> None:
    told: list[str] = []
    prepared = prepare_network(rectifier([2]), Provenance("relu"), FLOAT)
    first = prepared.build([HOST], report=told.append)
    assert told.count("compiling relu") == 1
    assert to_bytes(prepared.build([HOST], report=told.append)) == to_bytes(first)
    assert told.count("compiling relu") == 1
    lesser = cpu(HOST.machine.without("avx512f", "avx2", "avx"))
    other = prepared.build([lesser], report=told.append)
    assert told.count("compiling relu") == 2
    assert all("avx2" not in each.features for each in other.of_kind(ObjectCode).values())


# Before quantisation ------------------------------------------------------------------------------


def model(nodes: list[tuple[str, str, str]], outputs: list[str]) -> ModelProto:
    """Operators of one input and a weight `w`, each."""
    graph = helper.make_graph(
        [
            helper.make_node(kind, [data, "w"][: 1 + (kind == "Mul")], [to])
            for kind, data, to in nodes
        ],
        "g",
        [helper.make_tensor_value_info("in:0", TensorProto.FLOAT, ["N", 2])],
        [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["N", 2]) for each in outputs],
        [numpy_helper.from_array(np.array([2, 3], np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_the_real_network_gives_what_onnx_runtime_gives(tmp_path: Path) -> None:
    rival = pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
    path = convolution(tmp_path / "net.onnx")
    prepared = prepare_network(
        ModelProto.FromString(path.read_bytes()), Provenance("net"), compile_options()
    )
    image = {"image": np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)}
    session = rival.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, image)
    assert prepared.real is not None
    found = prepared.real.run(image)
    assert [*found] == ["out:0"]
    np.testing.assert_allclose(found["out:0"], wanted, rtol=1e-5, atol=1e-5)


def test_a_real_network_with_several_outputs() -> None:
    given = model([("Mul", "in:0", "a"), ("Relu", "a", "b")], ["b", "a"])
    prepared = prepare_network(given, Provenance("net"), compile_options())
    assert prepared.real is not None
    found = prepared.real.run({"in:0": np.array([[-1, 1]], np.float32)})
    assert [(name, each.tolist()) for name, each in found.items()] == [
        ("b", [[0, 3]]),
        ("a", [[-2, 3]]),
    ]


def stated() -> ModelProto:
    """A QDQ model: y = x at a scale of 0.1."""
    given = model([("Relu", "in:0", "y")], ["y"])
    scales: dict[str, NDArray[Any]] = {"s": np.array(0.1, np.float32), "z": np.array(0, np.int8)}
    nodes = [
        helper.make_node("QuantizeLinear", ["in:0", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    del given.graph.node[:]
    given.graph.node.extend(nodes)
    given.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in scales.items()
    )
    return given


def test_a_network_that_is_not_quantised_has_no_real_network() -> None:
    given = model([("Relu", "in:0", "y")], ["y"])
    assert prepare_network(given, Provenance("net"), compile_options(None)).real is None


def test_real_numbers_of_a_qdq_model_are_rounded_where_it_says() -> None:
    """0.26 / 0.1 = 2.6 rounds to 3, and 127 is the greatest integer."""
    real = prepare_network(stated(), Provenance("net"), compile_options()).real
    assert real is not None
    assert real.states_scales
    found = real.run({"in:0": np.array([[0.26, 20]], np.float32)})
    np.testing.assert_allclose(found["y"], [[0.3, 12.7]], rtol=1e-6)


def test_what_scales_were_measured_with(tmp_path: Path) -> None:
    """A network of which nothing is quantised was measured with nothing; the artifact says it."""
    path = convolution(tmp_path / "net.onnx")
    plain = ModelProto.FromString(path.read_bytes())
    image = np.ones((1, 3, 8, 8), np.float32)
    users = compile_options(samples=lambda _: [{"image": image}])
    cases = (
        (plain, compile_options()),
        (plain, users),
        (plain, compile_options(None)),
        (stated(), compile_options()),
        (model([("Sqrt", "in:0", "y")], ["y"]), compile_options()),
    )
    found = [prepare_network(given, Provenance("net"), options) for given, options in cases]
    wanted = [Calibration.NOISE, Calibration.GIVEN, None, None, None]
    assert [each.calibration for each in found] == wanted
    assert [each.provenance.options.get("calibration") for each in found] == [
        *("noise", "given", None, None, None)
    ]


def test_tokens_are_indices_of_their_table_before_anything_is_compiled() -> None:
    """Random inputs of a run are drawn by that."""
    imported = import_network(Transformer(vocabulary=7, length=3).model())
    (tokens,) = input_tensors(imported)
    assert (tokens.name, tokens.shape, tokens.rows) == ("ids", (1, 3), 7)
    (floats,) = input_tensors(import_network(rectifier([2])))
    assert floats.rows is None


def test_a_network_is_imported_once_and_prepared_later() -> None:
    imported = import_network(model([("Relu", "in:0", "y")], ["y"]))
    (tensor,) = input_tensors(imported)
    assert (tensor.name, tensor.shape, tensor.dtype) == ("in:0", (1, 2), "float32")
    prepared = prepare_network(imported, Provenance("net"), compile_options(None))
    assert prepared.function == imported.function

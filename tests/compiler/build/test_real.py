"""What a quantised network was before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from compiler.build.network import CompileOptions, import_network, input_tensors, prepare_network
from runtime.artifact import Provenance
from tests.support.models import convolution


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


def test_it_gives_what_onnx_runtime_gives(tmp_path: Path) -> None:
    rival = pytest.importorskip("onnxruntime", reason="the extra `bench` brings it")
    path = convolution(tmp_path / "net.onnx")
    prepared = prepare_network(
        ModelProto.FromString(path.read_bytes()), Provenance("net"), CompileOptions()
    )
    image = {"image": np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)}
    session = rival.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, image)
    assert prepared.real is not None
    found = prepared.real.run(image)
    assert [*found] == ["out:0"]
    np.testing.assert_allclose(found["out:0"], wanted, rtol=1e-5, atol=1e-5)


def test_several_outputs() -> None:
    given = model([("Mul", "in:0", "a"), ("Relu", "a", "b")], ["b", "a"])
    prepared = prepare_network(given, Provenance("net"), CompileOptions())
    assert prepared.real is not None
    found = prepared.real.run({"in:0": np.array([[-1, 1]], np.float32)})
    assert [(name, each.tolist()) for name, each in found.items()] == [
        ("b", [[0, 3]]),
        ("a", [[-2, 3]]),
    ]


def test_what_was_not_quantised_here_has_none() -> None:
    given = model([("Relu", "in:0", "y")], ["y"])
    assert prepare_network(given, Provenance("net"), CompileOptions(None)).real is None
    scales: dict[str, NDArray[Any]] = {"s": np.array(0.1, np.float32), "z": np.array(0, np.int8)}
    nodes = [
        helper.make_node("QuantizeLinear", ["in:0", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    del given.graph.node[:]
    given.graph.node.extend(nodes)
    given.graph.initializer.extend(
        numpy_helper.from_array(each, name) for name, each in scales.items()
    )
    assert prepare_network(given, Provenance("net"), CompileOptions()).real is None


def test_a_network_is_imported_once_and_prepared_later() -> None:
    imported = import_network(model([("Relu", "in:0", "y")], ["y"]))
    (tensor,) = input_tensors(imported)
    assert (tensor.name, tensor.shape, tensor.dtype) == ("in:0", (1, 2), "float32")
    prepared = prepare_network(imported, Provenance("net"), CompileOptions(None))
    assert prepared.function == imported.function

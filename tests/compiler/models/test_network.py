"""Graphs under construction: nodes, weights of each type, and those that were trained."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, checker, numpy_helper

from tandem.compiler.models.network import IR_VERSION, OPSET, NetworkBuilder


def builder(**trained: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> NetworkBuilder:
    return NetworkBuilder(np.random.default_rng(0), trained=trained)


def test_nodes_and_weights() -> None:
    network = builder()
    assert network.node("Relu", ["x"], "r") == "r"
    assert network.node("Elu", ["r"], "e", alpha=0.5) == "e"
    first, second = network.nodes
    assert (first.op_type, first.name, list(first.input), list(first.output)) == (
        *("Relu", "r"),
        ["x"],
        ["r"],
    )
    assert second.attribute[0].f == 0.5
    assert network.weight("w", np.array([1.5, 2.5])) == "w"
    assert network.integers("shape", 2, -1) == "shape"
    assert network.weights["w"].data_type == TensorProto.FLOAT
    assert network.weights["shape"].data_type == TensorProto.INT64
    assert numpy_helper.to_array(network.weights["w"]).tolist() == [1.5, 2.5]
    assert numpy_helper.to_array(network.weights["shape"]).tolist() == [2, -1]


def test_trained_weights() -> None:
    network = builder(w=np.array([7.0, 8.0]))
    network.weight("w", np.zeros(2))
    network.weight("v", np.zeros(2))
    assert numpy_helper.to_array(network.weights["w"]).tolist() == [7, 8]
    assert numpy_helper.to_array(network.weights["v"]).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"^w is \[3\], and trained \[2\]$"):
        network.weight("w", np.zeros(3))


def test_random_weights_keep_the_variance() -> None:
    found = builder().normal((200, 300), 25, 3.0)
    assert found.shape == (200, 300)
    assert found.std() == pytest.approx(3 / 5, rel=0.02)
    assert builder().normal((200, 300), 25).std() == pytest.approx(1 / 5, rel=0.02)
    assert builder().biases(10_000).std() == pytest.approx(0.1, rel=0.05)


def test_dense_layers_and_models() -> None:
    network = builder()
    assert network.dense("a", "x", 3, 4) == "a"
    assert network.dense("b", "a", 4, 2, "output") == "output"
    first, second = network.nodes
    assert (list(first.input), list(first.output)) == (["x", "a.weight", "a.bias"], ["a"])
    assert (second.name, list(second.output)) == ("b", ["output"])
    assert {each.name: each.i for each in first.attribute} == {"transB": 1}
    assert list(network.weights["b.weight"].dims) == [2, 4]
    assert list(network.weights["b.bias"].dims) == [2]
    model = network.model("net", {"x": (TensorProto.FLOAT, ("N", 3))}, {"output": ("N", 2)})
    checker.check_model(model, full_check=True)
    assert (model.graph.name, model.ir_version) == ("net", IR_VERSION)
    assert model.opset_import[0].version == OPSET
    (given,), (made,) = model.graph.input, model.graph.output
    assert [each.dim_param or each.dim_value for each in given.type.tensor_type.shape.dim] == [
        "N",
        3,
    ]
    assert made.type.tensor_type.elem_type == TensorProto.FLOAT
    other = network.model("net", {}, {}, opset=20, ir_version=9)
    assert (other.ir_version, other.opset_import[0].version) == (9, 20)

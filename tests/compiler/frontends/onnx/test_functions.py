"""Operators as the functions that ONNX defines them as: names, nesting, versions, refusals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.functions import definition, expanded

make = helper.make_node
MEANS: Mapping[str, Collection[int]] = {"MeanVarianceNormalization": (13,)}


def model(
    nodes: Sequence[NodeProto], outputs: Sequence[str] = ("y",), opset: int = 13, rank: int = 4
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4, 5][:rank])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def mean(x: str, y: str, name: str = "", **attributes: Any) -> NodeProto:
    return make("MeanVarianceNormalization", [x], [y], name, **attributes)


def same(one: ModelProto, other: ModelProto) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    wanted, found = (ReferenceEvaluator(each).run(None, {"x": x}) for each in (one, other))
    for left, right in zip(wanted, found, strict=True):
        np.testing.assert_allclose(left, right, 1e-5, 1e-6)


@pytest.mark.parametrize(("name", "said"), [("norm", "norm"), ("", "y")])
def test_nodes_are_called_as_that_of_the_model(name: str, said: str) -> None:
    whole = model([mean("x", "y", name)])
    found = expanded(whole, MEANS, "p_")
    assert len(found.graph.node) > 3
    assert {node.name for node in found.graph.node} == {said}
    assert "MeanVarianceNormalization" not in {node.op_type for node in found.graph.node}
    same(whole, found)


def test_a_node_is_called_by_its_first_result_that_is_there() -> None:
    loss = make("SoftmaxCrossEntropyLoss", ["x", "t"], ["", "y"], reduction="none")
    whole = model([make("ArgMax", ["x"], ["t"], axis=1, keepdims=0), loss])
    found = expanded(whole, {"SoftmaxCrossEntropyLoss": (13,)}, "p_")
    assert {node.name for node in found.graph.node[1:]} == {"y"}


def test_values_have_names_of_their_own() -> None:
    nodes = [mean("x", "m", "a"), make("Relu", ["m"], ["r"], "b"), mean("r", "y", "c")]
    whole = model(nodes, ("m", "y"))
    found = expanded(whole, MEANS, "p_")
    made: dict[str, set[str]] = {"a": set(), "b": set(), "c": set()}
    for node in found.graph.node:
        made[node.name].update(node.output)
    assert made["b"] == {"r"}
    assert {name for name in made["a"] if not name.startswith("p_1_")} == {"m"}
    assert {name for name in made["c"] if not name.startswith("p_2_")} == {"y"}
    # The order of nodes is kept, and the model is not changed.
    assert [*dict.fromkeys(node.name for node in found.graph.node)] == ["a", "b", "c"]
    assert len(whole.graph.node) == 3
    same(whole, found)


def test_attributes_and_defaults() -> None:
    given_axes: tuple[dict[str, Any], ...] = ({}, {"axes": [1]}, {"axes": [2, 3]})
    for attributes in given_axes:
        whole = model([mean("x", "y", **attributes)])
        found = expanded(whole, MEANS, "p_")
        reduced = [node for node in found.graph.node if node.op_type == "ReduceMean"]
        axes = attributes.get("axes", [0, 2, 3])
        assert reduced
        for node in reduced:
            (given,) = (each for each in node.attribute if each.name == "axes")
            assert [*given.ints] == axes
            assert not given.ref_attr_name
        same(whole, found)


def test_graphs_within_nodes() -> None:
    branches = {
        f"{name}_branch": helper.make_graph(
            [node],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, [2, 3, 4, 5])],
        )
        for name, node in (
            ("then", mean("x", "then_y", "inner")),
            ("else", make("Relu", ["x"], ["else_y"])),
        )
    }
    nodes = [
        make("ReduceSum", ["x"], ["s"], keepdims=0),
        make("Cast", ["s"], ["c"], to=TensorProto.BOOL),
        make("If", ["c"], ["y"], **branches),
    ]
    whole = model(nodes)
    found = expanded(whole, MEANS, "p_")
    inner = {
        attribute.name: [node.op_type for node in attribute.g.node]
        for attribute in found.graph.node[2].attribute
    }
    assert "MeanVarianceNormalization" not in inner["then_branch"]
    assert len(inner["then_branch"]) > 3
    assert inner["else_branch"] == ["Relu"]
    same(whole, found)


def test_other_versions_stay() -> None:
    for functions in ({}, {"Relu": (13,)}, {"MeanVarianceNormalization": (9,)}):
        whole = model([mean("x", "y")])
        assert expanded(whole, functions, "p_") == whole
    old = model([mean("x", "y")], opset=12)
    assert expanded(old, MEANS, "p_") == old
    assert len(expanded(old, {"MeanVarianceNormalization": (9,)}, "p_").graph.node) > 3


@pytest.mark.parametrize(
    ("version", "found"), [(8, None), (9, 9), (12, 9), (13, 13), (18, 13), (0, None)]
)
def test_the_version_of_a_definition(version: int, found: int | None) -> None:
    assert definition(mean("x", "y"), {"": version}) == found
    assert definition(mean("x", "y"), {"other": version}) is None


CROPPED = {"CenterCropPad": (18,)}
TURNED = {"RotaryEmbedding": (23,)}


@pytest.mark.parametrize(
    ("node", "functions", "opset", "message"),
    [
        (make("CenterCropPad", ["x"], ["y"]), CROPPED, 18, "1 operands"),
        (make("CenterCropPad", ["x", "x", "x"], ["y"]), CROPPED, 18, "3 operands"),
        (make("CenterCropPad", ["x", "x"], ["y", "z"]), CROPPED, 18, "2 results"),
        (mean("x", "y", "n", axis=1), MEANS, 13, "attribute axis"),
        (mean("x", "y", "n", axes=1), MEANS, 13, "the type of attribute axes"),
        (
            make("HannWindow", ["x"], ["y"], "n", periodic=[1]),
            {"HannWindow": (17,)},
            17,
            "the type of attribute periodic",
        ),
    ],
)
def test_nodes_that_are_not_legal(
    node: NodeProto, functions: Mapping[str, Collection[int]], opset: int, message: str
) -> None:
    with pytest.raises(FrontendError, match=rf"the model is not legal: .*: {message}$"):
        expanded(model([node], opset=opset), functions, "p_")


def test_an_operand_of_unknown_type() -> None:
    """What a function is made of depends on its operands' types."""
    nodes = [
        make("Unheard", ["x"], ["u"], domain="other"),
        make("SoftmaxCrossEntropyLoss", ["u", "u"], ["y"]),
    ]
    whole = model(nodes)
    whole.opset_import.append(helper.make_opsetid("other", 1))
    with pytest.raises(UnsupportedError, match="not supported: the type of u is not known"):
        expanded(whole, {"SoftmaxCrossEntropyLoss": (13,)}, "p_")

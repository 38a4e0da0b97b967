"""Runs of nodes as models of their own, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.builder import constant
from tandem.compiler.frontends.onnx.reading import MAX_SHAPE_ELEMENTS
from tandem.compiler.frontends.onnx.segments import (
    check_names,
    element_types,
    is_choice,
    outside_choices,
    segment,
)
from tandem.compiler.frontends.onnx.values import Count, Value
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.nodes import Var
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32, INT64

INFO = helper.make_tensor_value_info
HEADER = helper.make_model(
    helper.make_graph([], "g", [], []), opset_imports=[helper.make_opsetid("", 13)], ir_version=3
)


def node(name: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
    return helper.make_node(name, inputs, outputs, **attributes)


def value(*shape: int | Dim) -> Value:
    return Value(TensorType(shape, FLOAT32), Var("x"))


def branch(*nodes: NodeProto) -> object:
    return helper.make_graph(list(nodes), "b", [], [INFO("r", TensorProto.FLOAT, [2])])


def test_declared_types() -> None:
    graph = helper.make_graph(
        [],
        "g",
        [INFO("in", TensorProto.FLOAT, [1])],
        [INFO("out", TensorProto.INT8, [1])],
        value_info=[INFO("mid", TensorProto.INT64, None), INFO("none", 0, [1])],
    )
    assert element_types(graph) == {"mid": TensorProto.INT64, "out": TensorProto.INT8}


def inputs_of(model: ModelProto) -> dict[str, list[int | str | None]]:
    found = {}
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        found[info.name] = [
            dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in dims
        ]
    return found


def test_what_a_segment_has() -> None:
    size = Value(TensorType((), INT64), Var("s"))
    values = {
        "a": Value(TensorType((4, 3), FLOAT32), Var("a"), counts={0: Count(size, "n")}),
        "b": value(Dim(("N",)), 3),
        "small": constant(np.arange(2)),
        "large": constant(np.zeros(MAX_SHAPE_ELEMENTS + 1, np.float32)),
        "exact": constant(np.zeros(MAX_SHAPE_ELEMENTS, np.float32)),
        "shape": constant(np.array([Dim(("N",)), 3], object)),
        "unused": value(1),
        "y": value(9),
    }
    nodes = [
        node("Add", ["a", "b"], ["y"]),
        node("Op", ["y", "small", "large", "exact", "shape", "", "unknown"], ["z"]),
    ]
    found = segment(HEADER, nodes, values, {"y": 1, "z": 7, "other": 7})
    assert found.ir_version == 4
    assert [each.version for each in found.opset_import] == [13]
    assert [each.op_type for each in found.graph.node] == ["Add", "Op"]
    assert inputs_of(found) == {
        "a": [None, 3],
        "b": ["N", 3],
        "large": [MAX_SHAPE_ELEMENTS + 1],
        "shape": [2],
    }
    assert [each.name for each in found.graph.initializer] == ["small", "exact"]
    declared = {each.name: each.type.tensor_type.elem_type for each in found.graph.value_info}
    assert declared == {"y": 1, "z": 7}
    newer = segment(ModelProto(ir_version=9), nodes[:1], values, {})
    assert newer.ir_version == 9


def test_graphs_within_nodes() -> None:
    inner = branch(node("Relu", ["a"], ["r"]))
    found = segment(HEADER, [node("If", ["c"], ["y"], then_branch=inner)], {"a": value(2)}, {})
    assert inputs_of(found) == {"a": [2]}
    # Their results' shapes are not what the model says.
    (output,) = found.graph.node[0].attribute[0].g.output
    assert not output.type.tensor_type.HasField("shape")
    assert output.type.tensor_type.elem_type == TensorProto.FLOAT
    # A result of a branch may be a value around it.
    outer = helper.make_graph([], "b", [], [INFO("a", TensorProto.FLOAT, [2])])
    found = segment(HEADER, [node("If", ["c"], ["y"], then_branch=outer)], {"a": value(2)}, {})
    assert [*inputs_of(found)] == ["a"]


def test_names_of_results() -> None:
    check_names([node("A", [], ["x", ""]), node("B", [], ["y", ""])], {"z": value(1)})
    for nodes in ([node("A", [], ["x"]), node("B", [], ["x"])], [node("A", [], ["z"])]):
        name = nodes[-1].output[0]
        message = f"^the model is not legal: two values are called {name}$"
        with pytest.raises(FrontendError, match=message):
            check_names(nodes, {"z": value(1)})


def test_nodes_outside_branches() -> None:
    relu, loop_body = node("Relu", ["a"], ["r"]), branch(node("Exp", ["a"], ["r"]))
    choice = node("If", ["c"], ["y"], then_branch=branch(relu), else_branch=branch(relu))
    loop = node("Loop", ["n"], ["y"], body=loop_body)
    other = helper.make_node("If", ["c"], ["y"], domain="com.other", then_branch=branch(relu))
    assert [is_choice(each) for each in (choice, loop, other)] == [True, False, False]
    found = [each.op_type for each in outside_choices([choice, loop, other])]
    assert found == ["If", "Loop", "Exp", "If", "Relu"]

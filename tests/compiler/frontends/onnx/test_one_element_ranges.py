"""Ranges whose operands have one element and axes, which ONNX Runtime and the reference take."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.frontends.onnx.one_element_ranges import with_scalar_ranges
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner

NAMES = ("start", "limit", "delta")


def made(extents: list[int], operator: str = "Range") -> ModelProto:
    """A sum of x and a range whose operands have these extents."""
    numbers = [
        helper.make_tensor(name, TensorProto.FLOAT, extents, [value] * prod(extents))
        for name, value in zip(NAMES, (1.0, 9.0, 3.0), strict=True)
    ]
    nodes = [
        helper.make_node(operator, [*(NAMES if operator == "Range" else NAMES[:2])], ["r"]),
        helper.make_node("Add", ["x", "r"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    graph = helper.make_graph(nodes, "range", [x], [y], numbers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize("extents", [[], [1], [1, 1]])
def test_ranges_are_those_of_the_reference(extents: list[int]) -> None:
    model, x = made(extents), np.array([5, 7, 11], np.float32)
    found = evaluate(import_model(model).function, [x], NativeRunner())
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(found, wanted)


def test_ranges_in_bodies() -> None:
    """In the branch of an `If` whose condition is not known."""
    outer, branch = made([1]), made([1])
    copy = ModelProto()
    copy.CopyFrom(branch)
    for model in (branch, copy):
        del model.graph.input[:]
    del outer.graph.node[:]
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch.graph, else_branch=copy.graph)
    outer.graph.node.append(node)
    outer.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    corrected = with_scalar_ranges(outer)
    assert corrected is not None
    then = corrected.graph.node[0].attribute[0].g
    assert [each.op_type for each in then.node] == ["Squeeze"] * 3 + ["Range", "Add"]
    assert [each.op_type for each in outer.graph.node[0].attribute[0].g.node] == ["Range", "Add"]


def test_operands_of_two_elements_are_refused() -> None:
    with pytest.raises((FrontendError, UnsupportedError), match="Range"):
        import_model(made([2]))


def test_models_without_ranges_are_not_copied() -> None:
    assert with_scalar_ranges(made([1], "Mul")) is None

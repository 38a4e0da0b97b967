"""Numbers behind the counts of bounded tensors."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tandem.compiler.frontends.onnx.builder import Builder
from tandem.compiler.frontends.onnx.definitions import standard
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.padding import filled, highest, lowest
from tandem.compiler.frontends.onnx.values import Count, Value
from tandem.compiler.graph import Extent, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function, Param
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8, INT64, UINT8, DType


def value(builder: Builder, name: str, dtype: DType, *shape: Extent) -> Value:
    type_ = TensorType(shape, dtype)
    return Value(type_, Var(builder.param(name, type_).name))


def param(one: Value) -> Param:
    assert isinstance(one.atom, Var)
    return Param(one.atom.name, one.type)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (INT8, -128, 127),
        (UINT8, 0, 255),
        (FLOAT32, -np.inf, np.inf),
        (INT64, -(2**63), 2**63 - 1),
        (BOOL, 0, 1),
    ],
)
def test_ends_of_types(dtype: DType, low: float, high: float) -> None:
    one = value(Builder(set()), "x", dtype, 2)
    assert (lowest(one), highest(one)) == (low, high)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_behind_the_count(axis: int) -> None:
    builder = Builder(set())
    definition = standard("Relu", 14, "")
    assert definition is not None
    node = Node(helper.make_node("Relu", ["x"], ["y"]), definition, [], {"y"}, builder)
    data, size = value(builder, "x", INT8, 3, 4), value(builder, "n", INT64)
    found = filled(node, data, axis, Count(size, "n"), 7)
    assert found.atom is not None
    body = builder.body("result", found.atom)
    function = Function("f", (param(data), param(size)), body)
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    for count in (0, 2, x.shape[axis]):
        wanted = x.copy()
        wanted[(slice(None),) * axis + (slice(count, None),)] = 7
        np.testing.assert_array_equal(evaluate(function, [x, np.array(count)]), wanted)

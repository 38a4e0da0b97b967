"""Models that ONNX takes, those that it is too strict with, and those that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.legality import legal


def model(node: Any, shape: list[int], result: list[int], opset: int, *weights: Any) -> ModelProto:
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [numpy_helper.from_array(array, name) for name, array in weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def test_models() -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    legal(model(relu, [2, 3], [2, 3], 17))
    with pytest.raises(FrontendError):
        legal(model(relu, [2, 3], [3, 2], 17))
    with pytest.raises(FrontendError):
        legal(model(helper.make_node("Relu", ["z"], ["y"]), [2], [2], 17))
    with pytest.raises(FrontendError):
        legal(model(helper.make_node("Relu", ["x"], ["y"], none=1), [2], [2], 17))


def test_pools_that_have_the_shapes_of_a_later_opset() -> None:
    given: dict[str, Any] = {"kernel_shape": [2], "strides": [3], "ceil_mode": 1, "pads": [0, 1]}
    # Of 3 elements and one of padding the window at 3 would begin in the padding.
    pool = helper.make_node("MaxPool", ["x"], ["y"], **given)
    legal(model(pool, [1, 1, 3], [1, 1, 1], 22))
    legal(model(pool, [1, 1, 3], [1, 1, 1], 17))
    with pytest.raises(FrontendError):
        legal(model(pool, [1, 1, 3], [1, 1, 3], 17))


def test_ranges_of_one_element() -> None:
    ends = [(name, np.array([each], np.float32)) for name, each in (("a", 0), ("b", 3), ("c", 1))]
    node = helper.make_node("Range", ["a", "b", "c"], ["y"])
    legal(model(node, [1], [3], 17, *ends))

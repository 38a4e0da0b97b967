"""A small network that states its own scales: what becomes of it does not depend on the host."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def stated_network() -> ModelProto:
    """Two convolutions with a shortcut, a pool and a classifier, with stated scales."""
    rng = np.random.default_rng(5)
    weights = {
        "scale": np.float32(0.05),
        "coarse": np.float32(0.2),
        "zero": np.int8(0),
        "unit": np.float32(0.01),
        "w1": rng.integers(-60, 60, (8, 4, 3, 3)).astype(np.int8),
        "w2": rng.integers(-60, 60, (8, 8, 1, 1)).astype(np.int8),
        "b1": rng.integers(-900, 900, 8).astype(np.int32),
        "w3": rng.integers(-60, 60, (8, 5)).astype(np.int8),
        "flat": np.array([1, -1]),
    }
    conv = ("scale", "zero"), ("unit", "zero")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", *conv[0]], ["q"], "enter"),
        helper.make_node(
            "QLinearConv",
            ["q", *conv[0], "w1", *conv[1], *conv[0], "b1"],
            ["c1"],
            "first",
            pads=[1, 1, 1, 1],
        ),
        helper.make_node(
            "QLinearConv", ["c1", *conv[0], "w2", *conv[1], "coarse", "zero"], ["c2"], "second"
        ),
        helper.make_node("MaxPool", ["c2"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("MaxPool", ["p"], ["g"], "most", kernel_shape=[3, 3]),
        helper.make_node("Reshape", ["g", "flat"], ["r"], "flatten"),
        helper.make_node(
            "QLinearMatMul",
            ["r", "coarse", "zero", "w3", *conv[1], "coarse", "zero"],
            ["m"],
            "classes",
        ),
        helper.make_node("DequantizeLinear", ["m", "coarse", "zero"], ["y"], "leave"),
    ]
    graph = helper.make_graph(
        nodes,
        "stated",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 6, 6))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 5))],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)

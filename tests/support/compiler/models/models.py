"""Small ONNX models in tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


def convolution(path: Path, shape: Sequence[int | str] = (1, 3, 8, 8)) -> Path:
    """Write an ONNX file with a convolution, ReLU and global average pool, random weights."""
    generator = np.random.default_rng(7)
    weights = {
        "w": generator.standard_normal((6, 3, 3, 3)).astype(np.float32),
        "b": generator.standard_normal(6).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["out:0"]),
    ]
    graph = helper.make_graph(
        nodes,
        "convolution",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out:0", TensorProto.FLOAT, [shape[0], 6])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def pooled_convolution(path: Path) -> Path:
    """Write an ONNX file with a convolution, a ReLU and maxima over windows, `conv`, `active` and
    `pooled`: one layer of `pynq-x` with the memory `edge`."""
    weights = np.random.default_rng(7).standard_normal((32, 3, 3, 3)).astype(np.float32)
    windows: dict[str, Any] = {
        "kernel_shape": [3, 3],
        "strides": [2, 2],
        "pads": [1, 1, 1, 1],
    }
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["image", "w"], ["conv"], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["conv"], ["active"]),
            helper.make_node("MaxPool", ["active"], ["pooled"], **windows),
        ],
        "pooled_convolution",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, 32, 32))],
        [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, (1, 32, 16, 16))],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def one_channel() -> ModelProto:
    """A convolution with one output channel, whose bias is a number of the instruction."""
    rng = np.random.default_rng(5)
    weights = {"w": rng.normal(size=(1, 5, 1, 1)), "b": np.array([0.7])}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"])],
        "one_channel",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 5, 6, 2))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1, 6, 2))],
        [numpy_helper.from_array(each.astype(np.float32), name) for name, each in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

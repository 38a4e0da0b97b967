"""ONNX models in tests: small models, and random weights for the onnx package's models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from math import prod, sqrt
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

Array = NDArray[Any]


def model(
    nodes: Sequence[NodeProto],
    inputs: dict[str, Sequence[int | str | None]],
    outputs: Sequence[str],
    weights: dict[str, Array] | None = None,
    opset: int = 17,
    dtype: int = TensorProto.FLOAT,
) -> ModelProto:
    """A model of the nodes; output types are inferred."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(each, name) for name, each in (weights or {}).items()],
    )
    # The checker requires output types, which are inferred from the nodes.
    found = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return _typed(found)


def read_weights(nodes: Sequence[NodeProto], weights: Mapping[str, Array]) -> dict[str, Array]:
    """Those of the weights that the nodes read."""
    read = {name for node in nodes for name in node.input}
    return {name: array for name, array in weights.items() if name in read}


def _typed(untyped: ModelProto) -> ModelProto:
    return infer_shapes(untyped)


def residual(opset: int = 17) -> ModelProto:
    """A small network: convolution, normalisation, residual, pooling, a computed reshape."""
    generator = np.random.default_rng(0)

    def weight(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    weights = {
        "w": weight(4, 3, 3, 3),
        "scale": np.abs(weight(4)),
        "bias": weight(4),
        "mean": weight(4),
        "variance": np.abs(weight(4)) + 0.5,
        "w2": weight(4, 4, 1, 1),
        "w3": weight(5, 4),
        "b3": weight(5),
        "zero": np.array(0),
        "minus": np.array([-1]),
        "axes": np.array([0]),
    }
    make = helper.make_node
    nodes = [
        make("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        make("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"], "norm"),
        make("Relu", ["n"], ["r"]),
        make("Conv", ["r", "w2"], ["d"], "conv2"),
        make("Add", ["d", "r"], ["a"]),
        make("MaxPool", ["a"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        make("GlobalAveragePool", ["m"], ["g"]),
        make("Shape", ["g"], ["s"]),
        make("Gather", ["s", "zero"], ["batch"]),
        make("Unsqueeze", ["batch", "axes"], ["batch1"]),
        make("Concat", ["batch1", "minus"], ["target"], axis=0),
        make("Reshape", ["g", "target"], ["f"]),
        make("Gemm", ["f", "w3", "b3"], ["y"], "fc", transB=1),
        make("Softmax", ["y"], ["z"], axis=-1),
    ]
    return model(nodes, {"x": ["N", 3, 8, 8]}, ["z"], weights, opset)


def light_model(name: str) -> ModelProto:
    """A weightless model of the onnx package, with random weights."""
    data = files("onnx.backend.test") / "data" / "light" / f"light_{name}.onnx"
    return with_weights(onnx.load_model_from_string(data.read_bytes()))


def with_weights(light: ModelProto, seed: int = 0) -> ModelProto:
    """The model with random weights (He's initialisation) in place of its ConstantOfShape nodes."""
    generator = np.random.default_rng(seed)
    shapes = {each.name: numpy_helper.to_array(each) for each in light.graph.initializer}
    roles = {
        name: (node.op_type, position)
        for node in reversed(light.graph.node)
        for position, name in enumerate(node.input)
    }
    nodes = [each for each in light.graph.node if each.op_type != "ConstantOfShape"]
    for node in light.graph.node:
        if node.op_type == "ConstantOfShape":
            name = node.output[0]
            shape = tuple(int(each) for each in shapes[node.input[0]])
            weights = _weights(generator, shape, *roles[name]).astype(np.float32)
            light.graph.initializer.append(numpy_helper.from_array(weights, name))
    del light.graph.node[:]
    light.graph.node.extend(nodes)
    # From this version on weights need not be inputs.
    light.ir_version = 4
    return light


def _weights(
    generator: np.random.Generator, shape: tuple[int, ...], operator: str, position: int
) -> Array:
    """Random weights that keep the magnitude of values from layer to layer."""
    match operator, position:
        case "BatchNormalization", 1 | 4:
            return generator.uniform(0.5, 1.0, shape)
        case "Unsqueeze", _:
            # Caffe's scales and shifts, applied by Mul and Add.
            return 0.7 + 0.1 * generator.standard_normal(shape)
        case _ if len(shape) < 2:
            return 0.1 * generator.standard_normal(shape)
        case _:
            return generator.standard_normal(shape) * sqrt(2.0 / prod(shape[1:]))

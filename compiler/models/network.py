"""ONNX graphs under construction, with random weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

OPSET = 17
"""The opset of the built-in networks, unless their operators are younger."""
IR_VERSION = 8
"""The IR version released with the opset, for old tools."""
_BIAS_DEVIATION = 0.1

Shape = Sequence[int | str]


@dataclass
class NetworkBuilder:
    """Collects the nodes and initialisers of a graph.

    Attributes
    ----------
    random
        The generator of all weights.
    trained
        Arrays by name that weights have instead of those that are drawn.
    """

    random: np.random.Generator
    nodes: list[NodeProto] = field(default_factory=list)
    weights: dict[str, TensorProto] = field(default_factory=dict)
    trained: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def node(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Add a node whose result has the node's name; returns the name."""
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """Add an initialiser, floats as float32 and integers as int64; returns its name.

        Raises
        ------
        ValueError
            A trained array of this name with another shape.
        """
        trained = self.trained.get(name, array)
        if trained.shape != array.shape:
            raise ValueError(f"{name} is {list(array.shape)}, and trained {list(trained.shape)}")
        array = trained
        kind = np.float32 if np.issubdtype(array.dtype, np.floating) else np.int64
        self.weights[name] = numpy_helper.from_array(array.astype(kind), name)
        return name

    def integers(self, name: str, *numbers: int) -> str:
        """Add a vector of integers, such as a shape; returns its name."""
        return self.weight(name, np.array(numbers, np.int64))

    def normal(self, shape: Sequence[int], inputs: int, scale: float = 1.0) -> NDArray[Any]:
        """Random weights that keep the variance of data, if `inputs` products are summed."""
        return self.random.standard_normal(tuple(shape)) * scale / np.sqrt(inputs)

    def biases(self, outputs: int) -> NDArray[Any]:
        """Random biases, small against the sums."""
        return _BIAS_DEVIATION * self.random.standard_normal(outputs)

    def dense(self, name: str, x: str, inputs: int, outputs: int, result: str | None = None) -> str:
        """Add a dense layer of vectors [N, inputs]; returns its result's name, or `name`."""
        weight = self.weight(f"{name}.weight", self.normal((outputs, inputs), inputs))
        bias = self.weight(f"{name}.bias", self.biases(outputs))
        self.nodes.append(
            helper.make_node("Gemm", [x, weight, bias], [result or name], name, transB=1)
        )
        return result or name

    def model(
        self,
        name: str,
        inputs: Mapping[str, tuple[int, Shape]],
        outputs: Mapping[str, Shape],
        opset: int = OPSET,
        ir_version: int = IR_VERSION,
    ) -> ModelProto:
        """The model; `inputs` have element types and shapes, `outputs` are float32."""
        graph = helper.make_graph(
            self.nodes,
            name,
            [_value(key, kind, shape) for key, (kind, shape) in inputs.items()],
            [_value(key, TensorProto.FLOAT, shape) for key, shape in outputs.items()],
            list(self.weights.values()),
        )
        opsets = [helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def _value(name: str, kind: int, shape: Shape) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))

"""Transformers as ONNX models, with random weights, in the operators that exporters write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Array = NDArray[Any]
OPSET = 20


@dataclass(frozen=True, slots=True)
class Transformer:
    """The sizes of a network from tokens int64[1, length] to logits [1, length, vocabulary].

    Attributes
    ----------
    causal
        Whether a token sees only the tokens before it, and layers normalise what they read (GPT-2);
        else all see all, and layers normalise what they give (BERT).
    padding
        The number of last tokens that no token sees.
    scales_operands
        Whether queries and keys are scaled instead of their products, as PyTorch exports attention.
    """

    vocabulary: int = 50
    length: int = 12
    features: int = 16
    heads: int = 2
    hidden: int = 32
    layers: int = 1
    causal: bool = False
    activation: str = "Gelu"
    padding: int = 0
    scales_operands: bool = False

    def model(self, seed: int = 0) -> ModelProto:
        """The model, with weights of variance 1 / inputs."""
        return _Builder(self, np.random.default_rng(seed)).model()


@dataclass
class _Builder:
    sizes: Transformer
    random: np.random.Generator
    nodes: list[NodeProto] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)

    def model(self) -> ModelProto:
        sizes = self.sizes
        shape = [1, sizes.length]
        table = self._weight(sizes.vocabulary, sizes.features)
        places = self._constant(0.1 * self.random.standard_normal((1, *shape[1:], sizes.features)))
        x = self._call("Add", self._call("Gather", table, "ids"), places)
        if not sizes.causal:
            x = self._normalised(x)
        for _ in range(sizes.layers):
            x = self._residual(x, self._attention)
            x = self._residual(x, self._perceptron)
        if sizes.causal:
            x = self._normalised(x)
        head = self._weight(sizes.features, sizes.vocabulary)
        self.nodes.append(helper.make_node("MatMul", [x, head], ["logits"]))
        graph = helper.make_graph(
            self.nodes,
            "transformer",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, shape)],
            [
                helper.make_tensor_value_info(
                    "logits", TensorProto.FLOAT, [*shape, sizes.vocabulary]
                )
            ],
            [numpy_helper.from_array(each, name) for name, each in self.weights.items()],
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=9)

    def _residual(self, x: str, layer: Any) -> str:
        if self.sizes.causal:
            return self._call("Add", x, layer(self._normalised(x)))
        return self._normalised(self._call("Add", x, layer(x)))

    def _attention(self, x: str) -> str:
        sizes = self.sizes
        head = sizes.features // sizes.heads
        split = self._integers(0, 0, sizes.heads, head)
        q, k, v = (
            self._call(
                "Transpose", self._call("Reshape", self._linear(x), split), perm=[0, 2, 1, 3]
            )
            for _ in range(3)
        )
        columns = self._call("Transpose", k, perm=[0, 1, 3, 2])
        if sizes.scales_operands:
            root = self._constant(head**-0.25)
            q, columns = (self._call("Mul", each, root) for each in (q, columns))
            scores = self._call("MatMul", q, columns)
        else:
            scores = self._call("MatMul", q, columns)
            scores = self._call("Mul", scores, self._constant(head**-0.5))
        if sizes.causal or sizes.padding:
            hidden = np.zeros((sizes.length, sizes.length))
            hidden[:, sizes.length - sizes.padding :] = -1e4
            if sizes.causal:
                hidden += np.triu(np.full_like(hidden, -1e4), 1)
            scores = self._call("Add", scores, self._constant(hidden))
        seen = self._call("MatMul", self._call("Softmax", scores, axis=-1), v)
        joined = self._call("Transpose", seen, perm=[0, 2, 1, 3])
        whole = self._integers(0, 0, sizes.features)
        return self._linear(self._call("Reshape", joined, whole))

    def _perceptron(self, x: str) -> str:
        inner = self._linear(x, self.sizes.features, self.sizes.hidden)
        active = self._call(self.sizes.activation, inner)
        return self._linear(active, self.sizes.hidden, self.sizes.features)

    def _linear(self, x: str, inputs: int = 0, outputs: int = 0) -> str:
        inputs, outputs = inputs or self.sizes.features, outputs or self.sizes.features
        bias = self._constant(0.1 * self.random.standard_normal(outputs))
        return self._call("Add", self._call("MatMul", x, self._weight(inputs, outputs)), bias)

    def _normalised(self, x: str) -> str:
        ones = np.ones(self.sizes.features)
        return self._call(
            "LayerNormalization", x, self._constant(ones), self._constant(0 * ones), axis=-1
        )

    def _weight(self, inputs: int, outputs: int) -> str:
        return self._constant(self.random.standard_normal((inputs, outputs)) / np.sqrt(inputs))

    def _constant(self, array: Any) -> str:
        return self._named(np.asarray(array, np.float32))

    def _integers(self, *numbers: int) -> str:
        return self._named(np.array(numbers, np.int64))

    def _named(self, array: Array) -> str:
        name = f"weight{len(self.weights)}"
        self.weights[name] = array
        return name

    def _call(self, operator: str, *operands: str, **attributes: Any) -> str:
        name = f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [name], **attributes))
        return name

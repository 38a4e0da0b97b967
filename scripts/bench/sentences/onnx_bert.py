"""The sentence encoder as an ONNX model, of sentences padded to one length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tandem.scripts.bench.sentences.bert import EPSILON, HEADS, LAYERS, Array

_OPSET = 20
_HIDDEN = np.float32(-10_000)
"""What is added to the scores of padding."""


@dataclass(slots=True)
class _Nodes:
    """The nodes of the model so far, and the names of its constants."""

    tensors: Mapping[str, Array]
    made: list[NodeProto] = field(default_factory=list)
    constants: dict[str, NDArray[np.generic]] = field(default_factory=dict)

    def call(self, operator: str, name: str, *inputs: str, **attributes: Any) -> str:
        """An operator's result, which has this name."""
        self.made.append(helper.make_node(operator, [*inputs], [name], name, **attributes))
        return name

    def constant(self, name: str, array: NDArray[np.generic]) -> str:
        """A constant of this name."""
        self.constants[name] = array
        return name

    def tensor(self, name: str) -> str:
        """A tensor of the file."""
        return self.constant(name, self.tensors[name])

    def product(self, name: str, data: str) -> str:
        """Tokens times weights, and a bias."""
        weights = np.ascontiguousarray(self.tensors[f"{name}.weight"].T)
        product = self.call("MatMul", f"{name}.product", data, self.constant(f"{name}.t", weights))
        return self.call("Add", f"{name}.sum", product, self.tensor(f"{name}.bias"))

    def norm(self, name: str, data: str) -> str:
        """A normalisation of each token."""
        given = data, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")
        return self.call("LayerNormalization", f"{name}.norm", *given, axis=-1, epsilon=EPSILON)


def onnx_model(tensors: Mapping[str, Array], tokens: int) -> ModelProto:
    """The encoder: `tokens` int64[1, T] and `mask` float32[1, T], 1 for tokens and 0 for padding,
    to `embedding` float32[1, features] of length 1."""
    nodes = _Nodes(tensors)
    words = nodes.call(
        "Gather", "words", nodes.tensor("embeddings.word_embeddings.weight"), "tokens"
    )
    places = tensors["embeddings.position_embeddings.weight"][:tokens]
    added = places + tensors["embeddings.token_type_embeddings.weight"][0]
    whole = nodes.call("Add", "placed", words, nodes.constant("places", added[None]))
    data = nodes.norm("embeddings.LayerNorm", whole)
    hidden = nodes.call("Sub", "hidden", nodes.constant("one", np.ones(1, np.float32)), "mask")
    scaled = nodes.call("Mul", "low", hidden, nodes.constant("least", _HIDDEN.reshape(1)))
    shape = nodes.constant("mask_shape", np.array([1, 1, 1, tokens]))
    mask = nodes.call("Reshape", "scores_mask", scaled, shape)
    for layer in range(LAYERS):
        data = _layer(nodes, f"encoder.layer.{layer}", data, mask, tokens)
    column = nodes.call(
        "Reshape", "mask_column", "mask", nodes.constant("column", np.array([1, tokens, 1]))
    )
    axis = nodes.constant("axis", np.array([1]))
    total = nodes.call(
        "ReduceSum", "total", nodes.call("Mul", "kept", data, column), axis, keepdims=0
    )
    nodes.call("LpNormalization", "embedding", total, axis=-1, p=2)
    features = tensors["embeddings.LayerNorm.weight"].size
    graph = helper.make_graph(
        nodes.made,
        "sentences",
        [_port("tokens", TensorProto.INT64, (1, tokens)), _port("mask", 1, (1, tokens))],
        [_port("embedding", TensorProto.FLOAT, (1, features))],
        [numpy_helper.from_array(array, name) for name, array in nodes.constants.items()],
    )
    opset = helper.make_opsetid("", _OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


def _port(name: str, dtype: int, shape: Sequence[int]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def _layer(nodes: _Nodes, name: str, data: str, mask: str, tokens: int) -> str:
    features = nodes.tensors[f"{name}.output.dense.bias"].size
    split = nodes.constant("split", np.array([1, tokens, HEADS, features // HEADS]))
    scale = nodes.constant("scale", np.array(1 / sqrt(features // HEADS), np.float32))

    def heads(part: str, order: Sequence[int]) -> str:
        product = nodes.product(f"{name}.attention.self.{part}", data)
        apart = nodes.call("Reshape", f"{product}.heads", product, split)
        return nodes.call("Transpose", f"{product}.first", apart, perm=order)

    query, value = heads("query", (0, 2, 1, 3)), heads("value", (0, 2, 1, 3))
    scores = nodes.call("MatMul", f"{name}.scores", query, heads("key", (0, 2, 3, 1)))
    masked = nodes.call(
        "Add", f"{name}.masked", nodes.call("Mul", f"{name}.scaled", scores, scale), mask
    )
    shares = nodes.call("Softmax", f"{name}.shares", masked, axis=-1)
    context = nodes.call("MatMul", f"{name}.context", shares, value)
    back = nodes.call("Transpose", f"{name}.back", context, perm=(0, 2, 1, 3))
    joined = nodes.call(
        "Reshape", f"{name}.joined", back, nodes.constant("joined", np.array([1, tokens, features]))
    )
    mixed = nodes.product(f"{name}.attention.output.dense", joined)
    data = nodes.norm(
        f"{name}.attention.output.LayerNorm", nodes.call("Add", f"{name}.attended", mixed, data)
    )
    inner = nodes.call("Gelu", f"{name}.gelu", nodes.product(f"{name}.intermediate.dense", data))
    outer = nodes.product(f"{name}.output.dense", inner)
    return nodes.norm(f"{name}.output.LayerNorm", nodes.call("Add", f"{name}.summed", outer, data))

"""Layer normalisations of ONNX Runtime, alone and with what its optimiser joins to them."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import FLOATS, Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.normalise import layer_norm
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.parts import Gather
from tandem.compiler.graph.operators.reductions import LayerNorm, Reduction
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT32


def _root_mean_square(node: Node) -> tuple[Value, ...]:
    """The result, and the reciprocal of the root of the mean square if it is used."""
    data, epsilon = node.input(0), node.real("epsilon")
    to = LayerNorm(node.integer("axis"), epsilon)
    result = node.call("rms_norm", data, node.input(1), to=to)
    if not node.uses(1):
        return (result,)
    (axis,) = node.axes([to.axis], data)
    axes = tuple(range(axis % data.rank, data.rank))
    squares = node.call("multiply", data, data)
    mean = node.call("reduce_mean", squares, to=Reduction(axes, True))
    root = node.call("sqrt", node.call("add", mean, node.number(epsilon, data)))
    return result, node.call("reciprocal", root)


def _skip(node: Node) -> tuple[Value, ...]:
    """The normalised sum of both operands and a bias; the sum is the fourth result."""
    simplified = node.operator == "SkipSimplifiedLayerNormalization"
    data, skip, gamma = node.input(0), node.input(1), node.input(2)
    bias = node.optional(3 if simplified else 4)
    # ONNX Runtime broadcasts [tokens, features] and [1, tokens, features] along the batch.
    if skip.shape not in (data.shape, data.shape[1:], (1, *data.shape[1:])):
        node.refuse(f"{skip.type} cannot be added to {data.type}")
    total = node.call("add", data, skip)
    if bias is not None:
        total = node.call("add", total, bias)
    for unused in (1, 2):
        if node.uses(unused):
            node.unsupported(f"its result {node.outputs[unused]}, which only training has")
    to = LayerNorm(-1, node.real("epsilon"))
    if simplified:
        result = node.call("rms_norm", total, gamma, to=to)
    else:
        result = node.call("layer_norm", total, gamma, node.optional(3), to=to)
    return result, total, total, total


def _embed(node: Node) -> tuple[Value, ...]:
    """The normalised sum of the embeddings of words, positions and segments; how many words of a
    row the mask has, if it is used; the sum."""
    words, table = node.input(0), node.input(3)
    if words.rank != 2:
        node.refuse(f"words {words.type}")
    tokens = node.extent(1, words)
    total = node.call("gather", node.input(2), words, to=Gather(0))
    places = node.optional(8)
    if places is None:
        places = node.constant(np.arange(tokens, dtype=np.int64))
    total = node.call("add", total, node.call("gather", table, places, to=Gather(0)))
    segments, segment_table = node.optional(1), node.optional(4)
    if (segments is None) != (segment_table is None):
        node.refuse("of segments and their embedding, one is missing")
    if segments is not None and segment_table is not None:
        added = node.call("gather", segment_table, segments, to=Gather(0))
        total = node.call("add", total, added)
    to = LayerNorm(-1, node.real("epsilon"))
    result = node.call("layer_norm", total, node.input(5), node.input(6), to=to)
    return result, _words(node, words), total


def _words(node: Node, words: Value) -> Value:
    """The number of words that the mask of a row has, int32[batch]; 0 without a mask."""
    mask = node.optional(7)
    if mask is None:
        return node.constant(np.zeros(node.extent(0, words), np.int32))
    ones = node.cast(node.call("equal", mask, node.number(1, mask)), INT32)
    return node.call("reduce_sum", ones, to=Reduction((1,), False))


_T: Final = MappingProxyType({"T": FLOATS, "V": FLOATS, "U": (FLOAT32, FLOAT64)})
_STORED: Final = MappingProxyType({"T": (FLOAT32, FLOAT16, BFLOAT16)})
_OWN_DOMAIN: Final = "in the standard's domain, where ONNX Runtime writes it"

CONVERTERS: tuple[Converter, ...] = (
    own_converter(
        "LayerNormalization",
        layer_norm,
        limits=f"{_OWN_DOMAIN} up to opset 16",
        definition=define(
            "X: T, Scale: V, B: V?",
            "Y: V, Mean: U?, InvStdDev: U?",
            _T,
            axis=-1,
            epsilon=1e-5,
            stash_type=1,
        ),
    ),
    own_converter(
        "SimplifiedLayerNormalization",
        _root_mean_square,
        limits=_OWN_DOMAIN,
        definition=define(
            "X: T, scale: V", "Y: V, inv_std_var: U?", _T, axis=-1, epsilon=1e-5, stash_type=1
        ),
    ),
    own_converter(
        "SkipLayerNormalization",
        _skip,
        definition=define(
            "input: T, skip: T, gamma: T, beta: T?, bias: T?",
            "output: T, mean: float32?, inv_std_var: float32?, input_skip_bias_sum: T?",
            _STORED,
            epsilon=1e-12,
        ),
    ),
    own_converter(
        "SkipSimplifiedLayerNormalization",
        _skip,
        definition=define(
            "input: T, skip: T, gamma: T, bias: T?",
            "output: T, mean: float32?, inv_std_var: float32?, input_skip_bias_sum: T?",
            _STORED,
            epsilon=1e-12,
        ),
    ),
    own_converter(
        "EmbedLayerNormalization",
        _embed,
        limits="words out of range pick the nearest one",
        definition=define(
            "input_ids: int32, segment_ids: int32?, word_embedding: T, position_embedding: T, "
            "segment_embedding: T?, gamma: T, beta: T, mask: int32?, position_ids: int32?",
            "output: T, mask_index: int32?, embedding_sum: T?",
            {"T": (FLOAT32, FLOAT16)},
            epsilon=1e-12,
            mask_index_type=Kind.INT,
        ),
    ),
)

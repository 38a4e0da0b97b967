"""Rotary embeddings of ONNX Runtime, whose cosines and sines are tables by position."""

from __future__ import annotations

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.microsoft.heads import heads_of, tokens_of
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.parts import Concat, Gather, Slice
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32


def rotated(
    node: Node, heads: Value, positions: Value, tables: tuple[Value, Value], *, interleaved: bool
) -> Value:
    """Heads rotated by the angles of their positions; features behind those of the tables stay.

    Parameters
    ----------
    positions
        Integers, [tokens] or [batch, tokens].
    tables
        Cosines and sines, [positions, features / 2].
    interleaved
        Whether pairs that are rotated lie side by side, and not half of the features apart.
    """
    cosines, sines = tables
    if cosines.rank != 2 or cosines.type != sines.type:
        node.refuse(f"cosines {cosines.type} and sines {sines.type}")
    half, features = node.extent(1, cosines), node.extent(3, heads)
    if 2 * half > features:
        node.refuse(f"cosines {cosines.type} of {features} features")
    turned = node.call("slice", heads, to=Slice((0,), (2 * half,), (3,)))
    cosine, sine = (
        _by_position(node, table, positions, interleaved=interleaved) for table in tables
    )
    pairs = (*heads.shape[:3], half, 2)
    axis = 4 if interleaved else 3
    whole = node.reshape(turned, pairs) if interleaved else turned
    width = 1 if interleaved else half
    first = node.call("slice", whole, to=Slice((0,), (width,), (axis,)))
    second = node.call("slice", whole, to=Slice((width,), (2 * width,), (axis,)))
    other = node.call("concat", node.call("negative", second), first, to=Concat(axis))
    other = node.reshape(other, turned.shape)
    found = node.call(
        "add", node.call("multiply", turned, cosine), node.call("multiply", other, sine)
    )
    if 2 * half == features:
        return found
    rest = node.call("slice", heads, to=Slice((2 * half,), (features,), (3,)))
    return node.call("concat", found, rest, to=Concat(3))


def _by_position(node: Node, table: Value, positions: Value, *, interleaved: bool) -> Value:
    """The rows of a table at positions, a number for each feature, [batch or 1, 1, tokens, all]."""
    rows = node.call("gather", table, positions, to=Gather(0))
    batch, (tokens, half) = rows.shape[:-2] or (1,), rows.shape[-2:]
    if interleaved:
        single = node.reshape(rows, (*batch, 1, tokens, half, 1))
        twice = node.call("concat", single, single, to=Concat(4))
        return node.reshape(twice, (*batch, 1, tokens, -1))
    single = node.reshape(rows, (*batch, 1, tokens, half))
    return node.call("concat", single, single, to=Concat(3))


def _rotary(node: Node) -> Value:
    data, positions, tables = node.input(0), node.input(1), (node.input(2), node.input(3))
    if node.integer("is_packed_batching", 0):
        node.unsupported("is_packed_batching, which ONNX Runtime has on GPUs only")
    if node.real("scale", 1.0) != 1:
        node.unsupported("a scale, which ONNX Runtime's CPU kernel does not use")
    size, count = node.integer("rotary_embedding_dim", 0), node.integer("num_heads", 0)
    half = node.extent(tables[0].rank - 1, tables[0])
    if size and size != 2 * half:
        node.refuse(f"rotary_embedding_dim {size} with cosines {tables[0].type}")
    heads = data
    if data.rank == 3:
        features = node.extent(2, data)
        heads = heads_of(node, data, count if size else features // max(2 * half, 1))
    elif data.rank != 4:
        node.refuse(f"{data.type} holds no tokens and no heads")
    tokens = node.extent(2, heads)
    if positions.type.size == 1:
        # The position of the first token.
        steps = node.constant(np.arange(tokens, dtype=np.int64))
        positions = node.call("add", node.reshape(positions, (1,)), steps)
    elif positions.shape != (heads.shape[0], tokens):
        node.refuse(f"positions {positions.type} of {heads.type}")
    interleaved = bool(node.integer("interleaved", 0))
    found = rotated(node, heads, positions, tables, interleaved=interleaved)
    return tokens_of(node, found) if data.rank == 3 else found


CONVERTERS: tuple[Converter, ...] = (
    own_converter(
        "RotaryEmbedding",
        _rotary,
        limits="positions out of range pick the nearest one",
        definition=define(
            "input: T, position_ids: int64, cos_cache: T, sin_cache: T",
            "output: T",
            {"T": (FLOAT32, FLOAT16, BFLOAT16)},
            interleaved=Kind.INT,
            is_packed_batching=Kind.INT,
            num_heads=Kind.INT,
            rotary_embedding_dim=Kind.INT,
            scale=Kind.FLOAT,
        ),
    ),
)

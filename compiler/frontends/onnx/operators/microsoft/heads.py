"""Heads of attention: tensors [batch, heads, tokens, features of a head]."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.extents import product
from tandem.compiler.graph.operators.parts import Concat, Slice
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.operators.shapes import Transpose

LATER: Final = np.finfo(np.float32).min
"""What is added to scores of later keys: nothing that is masked is less."""


def heads_of(node: Node, data: Value, heads: int) -> Value:
    """[batch, tokens, features] as heads."""
    if data.rank != 3:
        node.refuse(f"{data.type} holds no tokens of a batch")
    features = node.extent(2, data)
    if heads < 1 or features % heads:
        node.refuse(f"{heads} heads of {data.type}")
    rows = node.reshape(data, (*data.shape[:2], heads, features // heads))
    return node.call("transpose", rows, to=Transpose((0, 2, 1, 3)))


def tokens_of(node: Node, heads: Value) -> Value:
    """Heads as [batch, tokens, features]."""
    rows = node.call("transpose", heads, to=Transpose((0, 2, 1, 3)))
    return node.reshape(rows, (*rows.shape[:2], product(rows.shape[2:])))


def scores_of(node: Node, queries: Value, keys: Value) -> Value:
    """The products of queries and keys, by the node's scale or that of the features."""
    columns = node.call("transpose", keys, to=Transpose((0, 1, 3, 2)))
    products = node.call("matmul", queries, columns, to=Product())
    scale = node.real("scale", 0.0) or node.extent(3, queries) ** -0.5
    return node.call("multiply", products, node.number(scale, products))


def seen(node: Node, weights: Value, values: Value) -> Value:
    """The sums of values by their weights, [batch, tokens, features]."""
    return tokens_of(node, node.call("matmul", weights, values, to=Product()))


def joined(node: Node, past: Value | None, own: Value) -> Value:
    """Heads of earlier tokens, if there are any, in front of those of this call's tokens."""
    if past is None:
        return own
    if (past.rank, past.shape[:2], past.shape[3:]) != (4, own.shape[:2], own.shape[3:]):
        node.refuse(f"the past is {past.type}, of {own.type}")
    return node.call("concat", past, own, to=Concat(2))


def columns_of(node: Node, packed: Value, sizes: Sequence[int]) -> list[Value]:
    """The parts of packed weights or biases, along the last axis."""
    bounds = [0, *accumulate(sizes)]
    return [
        node.call("slice", packed, to=Slice((begin,), (end,), (packed.rank - 1,)))
        for begin, end in pairwise(bounds)
    ]

"""Attention of ONNX Runtime, of queries, keys and values that other layers have computed."""

from __future__ import annotations

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.microsoft.heads import columns_of, heads_of, joined
from tandem.compiler.frontends.onnx.operators.microsoft.masked_attention import masked
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.parts import Slice
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32


def _multi_head(node: Node) -> tuple[Value, ...]:
    """Attention of queries, keys and values, which other layers have computed."""
    queries, keys, values = node.input(0), node.optional(1), node.optional(2)
    if keys is None or values is None or queries.rank != 3 or keys.rank != values.rank:
        node.unsupported("queries, keys and values in one operand")
    for position in (8, 9):
        if node.optional(position) is not None:
            node.unsupported("buffers that past and present share")
    if node.uses(3):
        node.unsupported(f"its result {node.outputs[3]}, the products")
    count, bias = node.integer("num_heads"), node.optional(3)
    operands = [queries, keys, values]
    if keys.rank == 4:
        # Keys and values are heads already; a bias is for queries alone.
        operands, ready = [queries], [keys, values]
    elif keys.rank == 3:
        ready = []
    else:
        node.unsupported(f"keys {keys.type}")
    if bias is not None:
        features = [node.extent(each.rank - 1, each) for each in operands]
        first = node.call("slice", bias, to=Slice((0,), (sum(features),)))
        parts = columns_of(node, first, features)
        operands = [node.call("add", row, part) for row, part in zip(operands, parts, strict=True)]
    heads = [*(heads_of(node, each, count) for each in operands), *ready]
    past = (node.optional(6), node.optional(7))
    keys, values = (joined(node, *them) for them in zip(past, heads[1:], strict=True))
    found = masked(node, (heads[0], keys, values), 4, node.optional(5), past[0])
    return found, keys, values


CONVERTERS: tuple[Converter, ...] = (
    own_converter(
        "MultiHeadAttention",
        _multi_head,
        limits="queries, keys and values in three operands; no shared buffers",
        definition=define(
            "query: T, key: T?, value: T?, bias: T?, key_padding_mask: int32?, "
            "attention_bias: T?, past_key: T?, past_value: T?, past_sequence_length: int32?, "
            "cache_indirection: int32?",
            "output: T, present_key: T?, present_value: T?, qk: T?",
            {"T": (FLOAT32, FLOAT16, BFLOAT16)},
            mask_filter_value=Kind.FLOAT,
            num_heads=Kind.INT,
            scale=Kind.FLOAT,
            unidirectional=0,
        ),
    ),
)

"""Attention of ONNX Runtime, of one tensor by packed weights.

Heads are [batch, heads, tokens, features of a head]. Layers, products, scale, masks and softmax
become the operators that exporters write for the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import BYTES, Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.microsoft.heads import columns_of, heads_of, joined
from tandem.compiler.frontends.onnx.operators.microsoft.masked_attention import masked
from tandem.compiler.frontends.onnx.operators.products import product
from tandem.compiler.frontends.onnx.operators.quantised import dequantised, integer_product
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.parts import Concat, Slice
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32


def _sizes(node: Node, weights: Value) -> tuple[int, int, int]:
    """The features of queries, keys and values, in the columns of packed weights."""
    columns = node.extent(1, weights)
    given = node.integers("qkv_hidden_sizes") or (columns // 3,) * 3
    if len(given) != 3 or sum(given) != columns or given[0] != given[1] or min(given) < 1:
        node.refuse(f"queries, keys and values of {list(given)} features by weights {weights.type}")
    return given[0], given[1], given[2]


def _heads(
    node: Node, rows: Sequence[Value], bias: Value | None, sizes: Sequence[int]
) -> list[Value]:
    """Heads of queries, keys and values, from tokens and the packed bias that is added to them."""
    if bias is not None:
        parts = columns_of(node, bias, sizes)
        rows = [node.call("add", row, part) for row, part in zip(rows, parts, strict=True)]
    heads = node.integer("num_heads")
    return [heads_of(node, row, heads) for row in rows]


def _operands(node: Node) -> tuple[Value, Value, tuple[int, int, int]]:
    """Data, packed weights, and the features of queries, keys and values."""
    for name in ("do_rotary", "past_present_share_buffer"):
        if node.integer(name, 0):
            node.unsupported(f"{name}, which ONNX Runtime has on GPUs only")
    data, weights = node.input(0), node.input(1)
    if data.rank != 3 or weights.rank != 2:
        node.refuse(f"data {data.type} by weights {weights.type}")
    return data, weights, _sizes(node, weights)


def _attention(node: Node) -> tuple[Value, ...]:
    """Attention of one tensor, by three layers: each by its part of the packed weights."""
    data, weights, sizes = _operands(node)
    rows = [product(node, data, each) for each in columns_of(node, weights, sizes)]
    heads = _heads(node, rows, node.optional(2), sizes)
    return _with_past(node, heads, node.optional(4), 3, node.optional(5))


def _quantised_attention(node: Node) -> tuple[Value, ...]:
    """Attention whose layers have integers as operands.

    They are in QDQ form if the data's scale is known, else as `quantize_dynamic` writes layers.
    """
    data, weights, sizes = _operands(node)
    scale, zero = node.input(3), node.optional(6)
    # Scales and zero points are those of all weights, or of each column.
    parts = columns_of(node, weights, sizes)
    scales = _columns_or_one(node, node.input(4), sizes)
    given = node.optional(7)
    zeros = [None] * 3 if given is None else _columns_or_one(node, given, sizes)
    rows = []
    for part, own, own_zero in zip(parts, scales, zeros, strict=True):
        if scale.known is None:
            sums = integer_product(node, data, part, zero, own_zero)
            both = node.call("multiply", scale, own)
            rows.append(node.call("multiply", node.cast(sums, FLOAT32), both))
        else:
            real = dequantised(node, data, scale, zero, 0)
            rows.append(product(node, real, dequantised(node, part, own, own_zero, 1)))
    heads = _heads(node, rows, node.input(2), sizes)
    return _with_past(node, heads, node.optional(8), 5, None)


def _columns_or_one(node: Node, packed: Value, sizes: Sequence[int]) -> Sequence[Value]:
    """The parts of packed numbers; the number itself if there is one for all."""
    return [packed] * 3 if packed.type.size == 1 else columns_of(node, packed, sizes)


def _with_past(
    node: Node, heads: Sequence[Value], packed: Value | None, mask: int, bias: Value | None
) -> tuple[Value, ...]:
    """What queries see of earlier keys and values and these; the keys and values of both.

    Parameters
    ----------
    packed
        The earlier keys and values, [2, batch, heads, tokens, features of a head].
    """
    queries, keys, values = heads
    past: list[Value | None] = [None, None]
    if packed is not None:
        if packed.rank != 5 or packed.shape[0] != 2:
            node.refuse(f"the past is {packed.type}")
        past = [
            node.reshape(node.call("slice", packed, to=Slice((at,), (at + 1,))), packed.shape[1:])
            for at in range(2)
        ]
    keys, values = (joined(node, *them) for them in zip(past, (keys, values), strict=True))
    found = masked(node, (queries, keys, values), mask, bias, past[0])
    if not node.uses(1):
        return (found,)
    both = [node.reshape(each, (1, *each.shape)) for each in (keys, values)]
    return found, node.call("concat", *both, to=Concat(0))


_T: Final = MappingProxyType({"T": (FLOAT32, FLOAT16, BFLOAT16)})

CONVERTERS: tuple[Converter, ...] = (
    own_converter(
        "Attention",
        _attention,
        limits="no rotary embedding and no shared buffers",
        definition=define(
            "input: T, weights: T, bias: T?, mask_index: int32?, past: T?, attention_bias: T?, "
            "past_sequence_length: int32?",
            "output: T, present: T?",
            _T,
            do_rotary=Kind.INT,
            mask_filter_value=Kind.FLOAT,
            num_heads=Kind.INT,
            past_present_share_buffer=Kind.INT,
            qkv_hidden_sizes=Kind.INTS,
            rotary_embedding_dim=Kind.INT,
            scale=Kind.FLOAT,
            unidirectional=0,
        ),
    ),
    own_converter(
        "QAttention",
        _quantised_attention,
        limits="computed in floats; no rotary embedding and no shared buffers",
        definition=define(
            "input: T1, weight: T2, bias: T3, input_scale: T3, weight_scale: T3, "
            "mask_index: int32?, input_zero_point: T1?, weight_zero_point: T2?, past: T3?",
            "output: T3, present: T3?",
            {"T1": BYTES, "T2": BYTES, "T3": (FLOAT32, FLOAT16)},
            do_rotary=Kind.INT,
            mask_filter_value=Kind.FLOAT,
            num_heads=Kind.INT,
            past_present_share_buffer=Kind.INT,
            scale=Kind.FLOAT,
            unidirectional=0,
        ),
    ),
)

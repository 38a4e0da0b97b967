"""Attention of ONNX Runtime: of one tensor by packed weights, or of queries, keys and values.

Heads are [batch, heads, tokens, features of a head]. Layers, products, scale, masks and softmax
become the operators that exporters write for the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Final

import numpy as np

from compiler.frontends.onnx.converter import Converter
from compiler.frontends.onnx.definitions import BYTES, Kind, define
from compiler.frontends.onnx.node import Node
from compiler.frontends.onnx.operators.microsoft.domain import DOMAIN
from compiler.frontends.onnx.operators.microsoft.heads import LATER, heads_of, scores_of, seen
from compiler.frontends.onnx.operators.products import product
from compiler.frontends.onnx.operators.quantised import dequantised
from compiler.frontends.onnx.values import Value
from compiler.graph.operators.parts import Concat, Slice
from compiler.graph.operators.reductions import Softmax
from compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32

_MASKED: Final = -10_000.0
"""What is added to scores of keys that a mask hides, by default."""


def _attend(
    node: Node, heads: Sequence[Value], mask: Value | None, bias: Value | None, past: int
) -> Value:
    """What queries see of keys and values, `past` of them of earlier tokens."""
    queries, keys, values = heads
    scores = scores_of(node, queries, keys)
    tokens, total = node.extent(2, queries), node.extent(2, keys)
    causal = None
    if node.integer("unidirectional", 0) and tokens > 1:
        later = np.triu(np.ones((tokens, total), np.bool_), 1 + past)
        # The last token sees all keys, of which there may be more than tokens.
        later[-1] = False
        causal = node.constant(np.where(later, LATER, np.float32(0)))
    for added in (bias, mask, causal):
        if added is not None:
            scores = node.call("add", scores, added)
    weights = node.call("softmax", scores, to=Softmax(-1))
    return seen(node, weights, values)


def _mask(node: Node, position: int, batch: int, tokens: int, total: int) -> Value | None:
    """What a mask adds to scores; None if there is no mask.

    The mask is the number of keys of each sample, those numbers and the first keys, or a number
    above 0 for each key, or for each query and key, that is seen.
    """
    mask = node.optional(position)
    if mask is None:
        return None
    places = node.constant(np.arange(total, dtype=np.int32))
    zero = node.number(0, mask)
    shape: tuple[int, ...]
    match mask.shape:
        case (extent,) if extent in (batch, 2 * batch):
            ends = node.reshape(node.call("slice", mask, to=Slice((0,), (batch,))), (batch, 1))
            kept = node.call("less", places, ends)
            if extent != batch:
                starts = node.call("slice", mask, to=Slice((batch,), (2 * batch,)))
                after = node.call("less", places, node.reshape(starts, (batch, 1)))
                kept = node.call("logical_and", kept, node.call("logical_not", after))
            shape = (batch, 1, 1, total)
        case (rows, columns) if (rows, columns) == (batch, total):
            kept, shape = node.call("greater", mask, zero), (batch, 1, 1, total)
        case (rows, 1) if rows in (1, batch):
            # One number for all keys changes no weight.
            return None
        case extents if extents == (batch, tokens, total):
            kept, shape = node.call("greater", mask, zero), (batch, 1, tokens, total)
        case _:
            node.unsupported(
                f"a mask {mask.type} of {batch} samples, {tokens} queries and {total} keys"
            )
    nothing, hidden = (
        node.constant(np.array(each, np.float32))
        for each in (0, node.real("mask_filter_value", _MASKED))
    )
    added = node.call("where", kept, nothing, hidden)
    return node.reshape(added, shape)


def _sizes(node: Node, weights: Value) -> tuple[int, int, int]:
    """The features of queries, keys and values, in the columns of packed weights."""
    columns = node.extent(1, weights)
    given = node.integers("qkv_hidden_sizes") or (columns // 3,) * 3
    if len(given) != 3 or sum(given) != columns or given[0] != given[1] or min(given) < 1:
        node.refuse(f"queries, keys and values of {list(given)} features by weights {weights.type}")
    return given[0], given[1], given[2]


def _columns(node: Node, packed: Value, sizes: Sequence[int]) -> list[Value]:
    """The parts of packed weights or biases, along the last axis."""
    bounds = [0, *accumulate(sizes)]
    return [
        node.call("slice", packed, to=Slice((begin,), (end,), (packed.rank - 1,)))
        for begin, end in pairwise(bounds)
    ]


def _packed(
    node: Node, data: Value, weights: Sequence[Value], bias: Value | None, sizes: Sequence[int]
) -> list[Value]:
    """Heads of queries, keys and values: three layers, each by its part of the packed weights."""
    rows = [product(node, data, each) for each in weights]
    if bias is not None:
        parts = _columns(node, bias, sizes)
        rows = [node.call("add", row, part) for row, part in zip(rows, parts, strict=True)]
    heads = node.integer("num_heads")
    return [heads_of(node, row, heads) for row in rows]


def _attention(node: Node) -> tuple[Value, ...]:
    for name in ("do_rotary", "past_present_share_buffer"):
        if node.integer(name, 0):
            node.unsupported(f"{name}, which ONNX Runtime has on GPUs only")
    data, weights = node.input(0), node.input(1)
    if data.rank != 3 or weights.rank != 2:
        node.refuse(f"data {data.type} by weights {weights.type}")
    sizes = _sizes(node, weights)
    parts = _columns(node, weights, sizes)
    heads = _packed(node, data, parts, node.optional(2), sizes)
    return _with_past(node, heads, node.optional(4), 3, node.optional(5))


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
    keys, values = (_joined(node, *them) for them in zip(past, (keys, values), strict=True))
    found = _masked(node, (queries, keys, values), mask, bias, past[0])
    if not node.uses(1):
        return (found,)
    both = [node.reshape(each, (1, *each.shape)) for each in (keys, values)]
    return found, node.call("concat", *both, to=Concat(0))


def _joined(node: Node, past: Value | None, own: Value) -> Value:
    """Heads of earlier tokens, if there are any, in front of those of this call's tokens."""
    if past is None:
        return own
    if (past.rank, past.shape[:2], past.shape[3:]) != (4, own.shape[:2], own.shape[3:]):
        node.refuse(f"the past is {past.type}, of {own.type}")
    return node.call("concat", past, own, to=Concat(2))


def _masked(
    node: Node, heads: Sequence[Value], mask: int, bias: Value | None, past: Value | None
) -> Value:
    """What queries see of keys and values through the mask at operand `mask`."""
    queries, keys, _ = heads
    batch, _, tokens, _ = queries.type.static_shape("queries")
    earlier = 0 if past is None else node.extent(2, past)
    added = _mask(node, mask, batch, tokens, node.extent(2, keys))
    return _attend(node, heads, added, bias, earlier)


def _quantised_attention(node: Node) -> tuple[Value, ...]:
    """Attention whose layers have integers as operands."""
    for name in ("do_rotary", "past_present_share_buffer"):
        if node.integer(name, 0):
            node.unsupported(f"{name}, which ONNX Runtime has on GPUs only")
    data, weights = node.input(0), node.input(1)
    if data.rank != 3 or weights.rank != 2:
        node.refuse(f"data {data.type} by weights {weights.type}")
    sizes = _sizes(node, weights)
    real = dequantised(node, data, node.input(3), node.optional(6), 0)
    # Scales and zero points are those of all weights, or of each column.
    packed = (weights, node.input(4), node.optional(7))
    parts = zip(*(_parts(node, each, sizes) for each in packed), strict=True)
    layers = []
    for part, scale, zero in parts:
        assert part is not None, "weights are not missing"
        assert scale is not None, "nor is their scale"
        layers.append(dequantised(node, part, scale, zero, 1))
    heads = _packed(node, real, layers, node.input(2), sizes)
    return _with_past(node, heads, node.optional(8), 5, None)


def _parts(node: Node, packed: Value | None, sizes: Sequence[int]) -> list[Value | None]:
    """Columns of packed numbers; the same for all if there is one number, or none."""
    if packed is None or packed.type.size == 1:
        return [packed] * 3
    return [*_columns(node, packed, sizes)]


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
        parts = _columns(node, first, features)
        operands = [
            node.call("add", each, part) for each, part in zip(operands, parts, strict=True)
        ]
    heads = [*(heads_of(node, each, count) for each in operands), *ready]
    past = (node.optional(6), node.optional(7))
    keys, values = (_joined(node, *them) for them in zip(past, heads[1:], strict=True))
    found = _masked(node, (heads[0], keys, values), 4, node.optional(5), past[0])
    return found, keys, values


_T: Final = MappingProxyType({"T": (FLOAT32, FLOAT16, BFLOAT16)})

CONVERTERS: tuple[Converter, ...] = (
    Converter(
        f"{DOMAIN}.Attention",
        (1,),
        _attention,
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
    Converter(
        f"{DOMAIN}.QAttention",
        (1,),
        _quantised_attention,
        "computed in floats",
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
    Converter(
        f"{DOMAIN}.MultiHeadAttention",
        (1,),
        _multi_head,
        definition=define(
            "query: T, key: T?, value: T?, bias: T?, key_padding_mask: int32?, "
            "attention_bias: T?, past_key: T?, past_value: T?, past_sequence_length: int32?, "
            "cache_indirection: int32?",
            "output: T, present_key: T?, present_value: T?, qk: T?",
            _T,
            mask_filter_value=Kind.FLOAT,
            num_heads=Kind.INT,
            scale=Kind.FLOAT,
            unidirectional=0,
        ),
    ),
)

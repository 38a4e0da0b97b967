"""Attention of ONNX Runtime whose keys and values serve groups of heads, with a cache of them.

The cache is [batch, heads of keys, positions, features]. Sample b has `seqlens_k[b]` + 1 tokens, of
which the node's are the last ones. If these numbers depend on inputs, where the cache ends and what
a token sees is computed when the network runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.microsoft.heads import (
    LATER,
    heads_of,
    scores_of,
    seen,
)
from tandem.compiler.frontends.onnx.operators.microsoft.rotary import rotated
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.parts import Concat, Gather, Slice
from tandem.compiler.graph.operators.reductions import Softmax
from tandem.compiler.graph.operators.shapes import Expand
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, INT64


@dataclass(frozen=True, slots=True)
class _Lengths:
    """The numbers of tokens.

    Attributes
    ----------
    own
        The node's tokens of a sample.
    positions
        The positions of the cache behind the node.
    before, all
        Of each sample, int64[batch, 1]: tokens before the node's, and with them.
    prompt
        Whether there are no tokens before.
    """

    own: int
    positions: int
    before: Value
    all: Value
    prompt: bool


def _grouped(node: Node) -> tuple[Value, ...]:
    _check(node)
    queries, keys, values = _heads(node)
    lengths = _lengths(node, queries)
    if node.integer("do_rotary", 0):
        places, tables = _places(node, lengths), (node.input(7), node.input(8))
        interleaved = bool(node.integer("rotary_interleaved", 0))
        queries, keys = (
            rotated(node, heads, places, tables, interleaved=interleaved)
            for heads in (queries, keys)
        )
    cache = [
        _cached(node, node.optional(position), own, lengths)
        for position, own in ((3, keys), (4, values))
    ]
    keys, values = (_repeated(node, each, node.integer("num_heads")) for each in cache)
    weights = _weights(node, scores_of(node, queries, keys), lengths)
    return seen(node, weights, values), *cache


def _check(node: Node) -> None:
    """Refuse what ONNX Runtime's CPU kernel, or this, does not have."""
    for name in ("k_quant_type", "v_quant_type"):
        if node.text(name) != "NONE":
            node.unsupported(f"{name} {node.text(name)}: a cache of integers")
    for name in ("sliding_window_cache", "qk_output"):
        if node.integer(name):
            node.unsupported(f"{name} {node.integer(name)}")
    if not node.integer("causal"):
        node.unsupported("causal 0")
    for position in (12, 13, 14, 15, 16):
        if node.optional(position) is not None:
            node.unsupported(f"its operand {node.operand_name(position)}")
    if node.uses(3):
        node.unsupported(f"its result {node.outputs[3]}")


def _heads(node: Node) -> tuple[Value, Value, Value]:
    """Heads of queries, keys and values, which may be packed in this order in one operand."""
    count, shared = node.integer("num_heads"), node.integer("kv_num_heads")
    if shared < 1 or count < 1 or count % shared:
        node.refuse(f"{count} heads, and {shared} of keys and values")
    query, key, value = node.input(0), node.optional(1), node.optional(2)
    if key is None or value is None:
        both = heads_of(node, query, count + 2 * shared)
        bounds = (0, count, count + shared, count + 2 * shared)
        query_heads, key_heads, value_heads = (
            node.call("slice", both, to=Slice((bounds[at],), (bounds[at + 1],), (1,)))
            for at in range(3)
        )
        return query_heads, key_heads, value_heads
    found = heads_of(node, query, count), heads_of(node, key, shared), heads_of(node, value, shared)
    if found[1].shape[2] != found[0].shape[2] or found[2].shape != found[1].shape:
        node.unsupported(f"queries {query.type} with keys {key.type} and values {value.type}")
    return found


def _lengths(node: Node, queries: Value) -> _Lengths:
    batch, _, own, _ = node.static_shape(queries, "queries")
    total = node.scalar(6)
    if not isinstance(total, int) or total < own:
        node.refuse(f"total_sequence_length {total} of {own} tokens")
    numbers, past = node.input(5), node.optional(3)
    if numbers.type.size != batch or (past is None) != (node.optional(4) is None):
        node.refuse(f"seqlens_k {numbers.type} of {batch} samples, or a part of the past")
    one = node.constant(np.array(1, np.int64))
    whole = node.call("add", node.cast(node.reshape(numbers, (batch, 1)), INT64), one)
    if past is not None and past.rank != 4:
        node.refuse(f"the past is {past.type}")
    positions = total if past is None else max(total, node.extent(2, past))
    if past is None or own == total:
        before = node.constant(np.zeros((batch, 1), np.int64))
        return _Lengths(own, positions, before, whole, prompt=True)
    before = node.call("subtract", whole, node.constant(np.array(own, np.int64)))
    return _Lengths(own, positions, before, whole, prompt=False)


def _places(node: Node, lengths: _Lengths) -> Value:
    """The positions of tokens, [batch, tokens]."""
    steps = node.constant(np.arange(lengths.own, dtype=np.int64))
    given = node.optional(9)
    if given is None:
        return node.call("add", lengths.before, steps)
    if not lengths.prompt:
        return given
    # Of a prompt the first token's position counts, and the others follow.
    rank = given.rank
    first = node.call("slice", given, to=Slice((0,) * rank, (1,) * rank))
    return node.call("add", node.reshape(first, (1,)), steps)


def _cached(node: Node, past: Value | None, own: Value, lengths: _Lengths) -> Value:
    """The cache with keys or values of the node's tokens, and zeros behind them."""
    batch, heads, count, features = node.static_shape(own, "keys")
    if past is not None and (past.shape[:2], past.shape[3]) != ((batch, heads), features):
        node.refuse(f"the past is {past.type}, of {own.type}")
    before = lengths.before.known
    if before is not None and (before == before.flat[0]).all() and before.flat[0] >= 0:
        first = int(before.flat[0])
        parts = [own]
        if past is not None and first:
            parts.insert(0, node.call("slice", past, to=Slice((0,), (first,), (2,))))
        return _padded(node, parts, lengths.positions)
    assert past is not None, "tokens before"
    places = node.constant(np.arange(lengths.positions, dtype=np.int64))
    at = node.call("subtract", places, lengths.before)
    low, high = (node.constant(np.array(each, np.int64)) for each in (0, count - 1))
    nearest = node.call("minimum", node.call("maximum", at, low), high)
    shape = (batch, 1, lengths.positions, 1)
    rows = node.call(
        "expand",
        node.reshape(nearest, shape),
        to=Expand((batch, heads, lengths.positions, features)),
    )
    added = node.call("gather_elements", own, rows, to=Gather(2))
    zero = node.number(0, own)
    inside = node.reshape(node.call("less_or_equal", at, high), shape)
    added = node.call("where", inside, added, zero)
    old = node.reshape(node.call("less", at, low), shape)
    return node.call("where", old, _padded(node, [past], lengths.positions), added)


def _padded(node: Node, parts: list[Value], positions: int) -> Value:
    """Keys or values one behind the other, with zeros up to a number of positions."""
    batch, heads, _, features = node.static_shape(parts[0], "keys")
    left = positions - sum(node.extent(2, each) for each in parts)
    if left < 0:
        node.refuse(f"{positions - left} keys for {positions} positions")
    if left:
        parts = [*parts, node.constant(np.zeros((batch, heads, left, features), np.float32))]
    return parts[0] if len(parts) == 1 else node.call("concat", *parts, to=Concat(2))


def _repeated(node: Node, cache: Value, count: int) -> Value:
    """Keys or values, again for each head of queries of their group."""
    batch, shared, positions, features = node.static_shape(cache, "keys")
    if shared == count:
        return cache
    apart = node.reshape(cache, (batch, shared, 1, positions, features))
    to = Expand((batch, shared, count // shared, positions, features))
    return node.reshape(node.call("expand", apart, to=to), (batch, count, positions, features))


def _weights(node: Node, scores: Value, lengths: _Lengths) -> Value:
    """The weights of keys by their scores."""
    cap = node.real("softcap", 0.0)
    if cap > 0:
        limit = node.number(cap, scores)
        flat = node.call("tanh", node.call("divide", scores, limit))
        scores = node.call("multiply", flat, limit)
    for added in (_bias(node, lengths), _mask(node, lengths)):
        if added is not None:
            scores = node.call("add", scores, added)
    sink = node.optional(11)
    if sink is None and node.integer("smooth_softmax") != 1:
        return node.call("softmax", scores, to=Softmax(-1))
    # A key without a value, whose score is that of the sink, or 0.
    batch, heads, tokens, positions = node.static_shape(scores, "scores")
    own = node.number(0, scores) if sink is None else node.reshape(sink, (1, heads, 1, 1))
    column = node.call("expand", own, to=Expand((batch, heads, tokens, 1)))
    weights = node.call(
        "softmax", node.call("concat", scores, column, to=Concat(3)), to=Softmax(-1)
    )
    return node.call("slice", weights, to=Slice((0,), (positions,), (3,)))


def _bias(node: Node, lengths: _Lengths) -> Value | None:
    """What is added to scores, with zeros for positions that it has no column for."""
    bias = node.optional(10)
    if bias is None:
        return None
    if bias.rank != 4:
        node.refuse(f"attention_bias {bias.type}")
    batch, heads, tokens, columns = node.static_shape(bias, "attention_bias")
    if columns >= lengths.positions:
        return node.call("slice", bias, to=Slice((0,), (lengths.positions,), (3,)))
    left = np.zeros((batch, heads, tokens, lengths.positions - columns), np.float32)
    return node.call("concat", bias, node.constant(left), to=Concat(3))


def _mask(node: Node, lengths: _Lengths) -> Value:
    """What hides keys of later tokens, and those before the local window, [batch, 1, own, all]."""
    steps = node.constant(np.arange(1, lengths.own + 1, dtype=np.int64))
    ends = node.call("minimum", node.call("add", lengths.before, steps), lengths.all)
    batch = node.extent(0, ends)
    ends = node.reshape(ends, (batch, 1, lengths.own, 1))
    places = node.constant(np.arange(lengths.positions, dtype=np.int64))
    kept = node.call("less", places, ends)
    window = node.integer("local_window_size")
    if window == 0 or window < -1:
        node.refuse(f"local_window_size {window}")
    if window > 0:
        first = node.call("subtract", ends, node.constant(np.array(window, np.int64)))
        kept = node.call("logical_and", kept, node.call("greater_or_equal", places, first))
    nothing, later = (node.constant(np.array(each, np.float32)) for each in (0, LATER))
    return node.call("where", kept, nothing, later)


_SCALE: Final = "k_scale: float32?, v_scale: float32?"

CONVERTERS: tuple[Converter, ...] = (
    own_converter(
        "GroupQueryAttention",
        _grouped,
        limits="`total_sequence_length` known at import; causal; a cache of floats, not windowed",
        definition=define(
            "query: T, key: T?, value: T?, past_key: T?, past_value: T?, seqlens_k: int32, "
            "total_sequence_length: int32, cos_cache: T?, sin_cache: T?, position_ids: int64?, "
            f"attention_bias: T?, head_sink: T?, {_SCALE}, q_norm_weight: T?, k_norm_weight: T?, "
            "query_seqlens: int32?",
            "output: T, present_key: T?, present_value: T?, output_qk: T?",
            {"T": (FLOAT32, FLOAT16, BFLOAT16)},
            causal=1,
            do_rotary=Kind.INT,
            k_norm_epsilon=Kind.FLOAT,
            k_quant_type="NONE",
            kv_cache_bit_width=Kind.INT,
            kv_num_heads=Kind.INT,
            local_window_size=-1,
            num_heads=Kind.INT,
            q_norm_epsilon=Kind.FLOAT,
            qk_norm_epsilon=1e-6,
            qk_output=0,
            rotary_interleaved=Kind.INT,
            scale=Kind.FLOAT,
            sliding_window_cache=0,
            smooth_softmax=-1,
            softcap=Kind.FLOAT,
            v_quant_type="NONE",
        ),
    ),
)

"""Random nodes of ONNX Runtime's attention and rotary embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from tests.support.compiler.frontends.fused_nodes import floats
from tests.support.compiler.frontends.random_nodes import Array, Random, RandomNode
from tests.support.compiler.frontends.runtime_nodes import (
    byte,
    flag,
    integers,
    node,
    number,
    one_of,
    scale,
    weights,
    zero,
)


def _mask(
    random: Random, batch: int, tokens: int, total: int, *, few: bool = False
) -> Array | None:
    """A mask of any form, or of the `few` that there are for queries, keys and values; or none."""
    kept = random.integers(0, 2, (batch, total))
    ends = random.integers(0, total + 1, batch)
    choices = (
        None,
        ends,
        np.concatenate([ends, random.integers(0, total + 1, batch)]),
        kept,
        random.integers(0, 2, (batch, tokens, total)),
        np.ones((one_of(random, 1, batch), 1)),
    )
    found = one_of(random, *((None, ends, kept, choices[4]) if few else choices))
    return None if found is None else found.astype(np.int32)


def _bias(random: Random, batch: int, heads: int, tokens: int, total: int) -> Array | None:
    if not flag(random):
        return None
    return floats(random, one_of(random, 1, batch), one_of(random, 1, heads), tokens, total)


def _sizes(random: Random) -> tuple[int, int, int, int]:
    """Samples, tokens, heads, and features of a head."""
    return number(random, 1, 3), number(random, 1, 6), number(random, 1, 3), number(random, 1, 5)


def _attributes(random: Random, heads: int) -> dict[str, Any]:
    return {
        "num_heads": heads,
        "unidirectional": flag(random),
        "scale": one_of(random, None, 0.3),
        "mask_filter_value": one_of(random, None, -50.0),
    }


def _attention(random: Random) -> RandomNode:
    batch, tokens, heads, size = _sizes(random)
    features, earlier = number(random, 1, 8), flag(random) * number(random, 1, 4)
    own = size if earlier else number(random, 1, 5)
    columns = heads * (2 * size + own)
    past = floats(random, 2, batch, heads, earlier, size) if earlier else None
    total = tokens + earlier
    drawn = node(
        "Attention",
        *(floats(random, batch, tokens, features), floats(random, features, columns)),
        floats(random, columns) if flag(random) else None,
        _mask(random, batch, tokens, total),
        past,
        None if earlier else _bias(random, batch, heads, tokens, total),
        qkv_hidden_sizes=None if own == size else [heads * size, heads * size, heads * own],
        **_attributes(random, heads),
    )
    return replace(drawn, outputs=2 if earlier else 1)


def _quantised(random: Random) -> RandomNode:
    batch, tokens, heads, size = _sizes(random)
    features, earlier = number(random, 1, 8), flag(random) * number(random, 1, 4)
    columns, data, dtype = 3 * heads * size, np.uint8, byte(random)
    own = (columns,) if flag(random) else ()
    past = floats(random, 2, batch, heads, earlier, size) if earlier else None
    drawn = node(
        "QAttention",
        integers(random, data, batch, tokens, features),
        weights(random, data, dtype, features, columns),
        floats(random, columns),
        *(scale(random, size=0.1), scale(random, *own, size=0.1)),
        _mask(random, batch, tokens, tokens + earlier),
        *(zero(random, data), one_of(random, None, np.full(own, 3, dtype)), past),
        **_attributes(random, heads),
    )
    return replace(drawn, outputs=2 if earlier else 1)


def _multi_head(random: Random) -> RandomNode:
    batch, tokens, heads, size = _sizes(random)
    features, form = heads * size, one_of(random, "tokens", "heads", "past")
    own = number(random, 1, 5) if form == "tokens" else size
    keys = tokens if form == "past" else number(random, 1, 6)
    earlier = number(random, 1, 4) if form == "past" else 0
    operands: list[tuple[int, ...]]
    if form == "heads":
        operands = [(batch, heads, keys, size), (batch, heads, keys, own)]
    else:
        operands = [(batch, keys, features), (batch, keys, heads * own)]
    total = keys + earlier
    past = [(batch, heads, earlier, size), (batch, heads, earlier, own)] if earlier else []
    drawn = node(
        "MultiHeadAttention",
        floats(random, batch, tokens, features),
        *(floats(random, *each) for each in operands),
        floats(random, 2 * features + heads * own) if flag(random) else None,
        _mask(random, batch, tokens, total, few=True),
        _bias(random, batch, heads, tokens, total),
        *(floats(random, *each) for each in past),
        **_attributes(random, heads),
    )
    return replace(drawn, outputs=3 if earlier else 1)


def _tables(random: Random, positions: int, half: int) -> tuple[Array, Array]:
    angles = random.uniform(0, 7, (positions, half))
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _rotary(random: Random) -> RandomNode:
    batch, tokens, heads, half = _sizes(random)
    rest = 2 * number(random, 0, 2) if flag(random) else 0
    features = 2 * half + rest
    shape = one_of(random, (batch, tokens, heads * features), (batch, heads, tokens, features))
    if rest and len(shape) == 4:
        shape = (batch, tokens, heads * features)
    most = tokens + 5
    places = random.integers(0, most, (batch, tokens))
    if flag(random) or places.size == 1:
        places = random.integers(0, most - tokens, 1)
    return node(
        "RotaryEmbedding",
        floats(random, *shape),
        places.astype(np.int64),
        *_tables(random, most, half),
        interleaved=flag(random),
        num_heads=heads,
        rotary_embedding_dim=2 * half if rest else None,
    )


def _grouped(random: Random) -> RandomNode:
    batch, tokens, shared, _ = _sizes(random)
    heads, size, half = shared * number(random, 1, 3), 16 * number(random, 1, 2), 8
    form = one_of(random, "prompt", "step", "chunk")
    if form == "chunk":
        batch = 1
    if form == "step":
        tokens = 1
    before = 0 if form == "prompt" else number(random, 1, 4)
    lengths = np.full(batch, before + tokens, np.int32)
    if form != "prompt":
        lengths -= random.integers(0, before, batch).astype(np.int32)
    total = int(lengths.max())
    spare = total + number(random, 0, 2)
    # A cache that grows, or one with more positions than there are tokens.
    kept = flag(random) * spare if form == "prompt" else one_of(random, total - tokens, spare)
    packed, turned = flag(random), flag(random)
    rows = [(heads + 2 * shared) * size] if packed else [heads * size, shared * size, shared * size]
    operands: list[Array | None] = [floats(random, batch, tokens, each) for each in rows]
    operands += [None] * (3 - len(operands))
    operands += [floats(random, batch, shared, kept, size) if kept else None for _ in range(2)]
    operands += [lengths - 1, np.asarray(total, np.int32)]
    operands += _tables(random, total + 3, half) if turned else (None, None)
    places = None
    if turned and flag(random):
        places = (lengths[:, None] - tokens + np.arange(tokens)).astype(np.int64)
    sink = floats(random, heads) if not number(random, 0, 3) else None
    bias = _bias(random, batch, heads, tokens, total)
    drawn = node(
        "GroupQueryAttention",
        *(*operands, places, bias, sink),
        do_rotary=turned,
        kv_num_heads=shared,
        local_window_size=one_of(random, None, 2),
        num_heads=heads,
        rotary_interleaved=flag(random),
        scale=one_of(random, None, 0.3),
        smooth_softmax=one_of(random, None, None, 1) if sink is None else None,
        softcap=one_of(random, None, 2.0),
    )
    return replace(drawn, outputs=3)


ATTENTION: Mapping[str, Callable[[Random], RandomNode]] = MappingProxyType(
    {"Attention": _attention, "QAttention": _quantised}
)
MULTI_HEAD: Mapping[str, Callable[[Random], RandomNode]] = MappingProxyType(
    {"MultiHeadAttention": _multi_head}
)
GROUPED: Mapping[str, Callable[[Random], RandomNode]] = MappingProxyType(
    {"GroupQueryAttention": _grouped}
)
ROTARY: Mapping[str, Callable[[Random], RandomNode]] = MappingProxyType(
    {"RotaryEmbedding": _rotary}
)

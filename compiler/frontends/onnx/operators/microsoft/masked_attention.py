"""What queries see of keys and values through masks, as heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.heads import LATER, scores_of, seen
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.parts import Slice
from tandem.compiler.graph.operators.reductions import Softmax

_MASKED: Final = -10_000.0
"""What is added to scores of keys that a mask hides, by default."""


def masked(
    node: Node, heads: Sequence[Value], mask: int, bias: Value | None, past: Value | None
) -> Value:
    """What queries see of keys and values through the mask at operand `mask`."""
    queries, keys, _ = heads
    batch, _, tokens, _ = node.static_shape(queries, "queries")
    earlier = 0 if past is None else node.extent(2, past)
    added = _mask(node, mask, batch, tokens, node.extent(2, keys))
    return _attend(node, heads, added, bias, earlier)


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
        node.constant(np.array(number, np.float32))
        for number in (0, node.real("mask_filter_value", _MASKED))
    )
    added = node.call("where", kept, nothing, hidden)
    return node.reshape(added, shape)

"""Attention through each form of a mask: what ONNX Runtime computes, and by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.random_nodes import Array, RandomNode
from tests.support.compiler.frontends.runtime_nodes import node
from tests.support.compiler.frontends.runtime_runs import (
    computed,
    differences,
    expected,
    feeds_of,
    model_of,
    refusal,
)

BATCH, TOKENS, EARLIER, HEADS, SIZE = 2, 3, 2, 2, 3
RANDOM = np.random.default_rng(11)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


DATA, WEIGHTS, BIAS = floats(BATCH, TOKENS, 4), floats(4, 18), floats(18)
PAST, ADDED = floats(2, BATCH, HEADS, EARLIER, SIZE), floats(1, HEADS, TOKENS, TOKENS)


def attention(
    mask: Any = None, *, past: bool = False, bias: bool = False, **given: Any
) -> RandomNode:
    """A node on two samples of three tokens, behind two earlier ones with `past`."""
    made = node(
        "Attention",
        *(DATA, WEIGHTS, BIAS),
        None if mask is None else np.array(mask, np.int32),
        PAST if past else None,
        ADDED if bias else None,
        num_heads=HEADS,
        **given,
    )
    # ONNX Runtime gives the keys and values of all tokens, too, where there are earlier ones.
    return replace(made, outputs=2 if past else 1)


MASKS: dict[str, Any] = {
    "no mask": None,
    "numbers of keys": [2, 3],
    "none of a sample": [0, 1],
    "from and to": [3, 2, 1, 0],
    "between": [2, 3, 1, 2],
    "each key": [[1, 0, 1], [0, 0, 2]],
    "each key of each query": [
        [[1, 0, 1], [1, 1, 0], [0, 1, 0]],
        [[1, 1, 1], [0, 0, 1], [1, 0, 0]],
    ],
    "one number": [[1], [1]],
    "one number for all": [[1]],
}


@pytest.mark.parametrize("case", MASKS)
def test_masks(case: str) -> None:
    differences(attention(MASKS[case]))
    differences(attention(MASKS[case], bias=True, unidirectional=1, mask_filter_value=-3.0))


PAST_MASKS: dict[str, Any] = {
    "no mask": None,
    "numbers of keys": [4, 5],
    "each key": [[1, 0, 1, 1, 0], [1, 1, 0, 1, 1]],
}


@pytest.mark.parametrize("case", PAST_MASKS)
def test_masks_with_earlier_tokens(case: str) -> None:
    differences(attention(PAST_MASKS[case], past=True))
    differences(attention(PAST_MASKS[case], past=True, unidirectional=1))


def test_by_hand() -> None:
    """A softmax in float64 of the scores, of which earlier tokens see no later ones."""
    hidden = -2.0
    made = attention([1, 2], bias=True, unidirectional=1, mask_filter_value=hidden, scale=0.5)
    rows = (DATA.astype(np.float64) @ WEIGHTS + BIAS).reshape(BATCH, TOKENS, 3, HEADS, SIZE)
    queries, keys, values = np.moveaxis(rows, 2, 0).swapaxes(2, 3)
    scores = queries @ keys.swapaxes(2, 3) * 0.5 + ADDED
    for sample, count in enumerate((1, 2)):
        scores[sample, :, :, count:] += hidden
    for query in range(TOKENS):
        scores[:, :, query, query + 1 :] = -np.inf
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True)
    wanted = (weights @ values).swapaxes(1, 2).reshape(BATCH, TOKENS, HEADS * SIZE)
    model = model_of(made)
    feeds = feeds_of(made, model)
    expected(model, feeds)
    np.testing.assert_allclose(computed(model, feeds)[0], wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("shape", [(3,), (2, 2), (3, 1), (1, 3, 3), (2, 3, 2), (2, 2, 3), (1, 3)])
def test_other_masks_are_refused(shape: tuple[int, ...]) -> None:
    extents = ", ".join(map(str, shape))
    said = refusal(attention(np.ones(shape)), floats(BATCH, TOKENS, HEADS * SIZE))
    assert f"not supported: a mask int32[{extents}] of 2 samples, 3 queries and 3 keys" in said

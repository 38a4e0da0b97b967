"""Attention of one tensor: what ONNX Runtime computes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.attention_nodes import ATTENTION
from tests.support.compiler.frontends.fused_nodes import floats
from tests.support.compiler.frontends.random_nodes import RandomNode
from tests.support.compiler.frontends.runtime_nodes import node
from tests.support.compiler.frontends.runtime_runs import drawn, refusal

SEEDS = 50


@pytest.mark.parametrize("name", ATTENTION)
def test_one(name: str) -> None:
    drawn(ATTENTION[name], range(3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ATTENTION)
def test_many(name: str) -> None:
    drawn(ATTENTION[name], range(SEEDS))


def test_refusals() -> None:
    random = np.random.default_rng(0)
    data, weights, bias = floats(random, 2, 3, 4), floats(random, 4, 12), floats(random, 12)
    operands = (data, weights, bias)

    def why(made: RandomNode) -> str:
        return refusal(made, data)

    for name in ("do_rotary", "past_present_share_buffer"):
        assert f"not supported: {name}, which ONNX Runtime has on GPUs only" in why(
            node("Attention", *operands, num_heads=2, **{name: 1})
        )
    assert "3 heads of float32[2, 3, 4]" in why(node("Attention", *operands, num_heads=3))
    assert "queries, keys and values of [4, 2, 6] features" in why(
        node("Attention", *operands, num_heads=2, qkv_hidden_sizes=[4, 2, 6])
    )
    mask = np.ones((2, 1, 3, 3), np.int32)
    assert "a mask int32[2, 1, 3, 3] of 2 samples, 3 queries and 3 keys" in why(
        node("Attention", *operands, mask, num_heads=2)
    )
    past = floats(random, 2, 2, 3, 1, 2)
    assert "the past is float32[2, 3, 1, 2], of float32[2, 2, 3, 2]" in why(
        node("Attention", *operands, None, past, num_heads=2)
    )

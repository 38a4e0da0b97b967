"""Attention of queries, keys and values: what ONNX Runtime computes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.attention_nodes import MULTI_HEAD
from tests.support.compiler.frontends.fused_nodes import floats
from tests.support.compiler.frontends.runtime_nodes import node
from tests.support.compiler.frontends.runtime_runs import drawn, refusal

SEEDS = 50


@pytest.mark.parametrize("name", MULTI_HEAD)
def test_one(name: str) -> None:
    drawn(MULTI_HEAD[name], range(3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MULTI_HEAD)
def test_many(name: str) -> None:
    drawn(MULTI_HEAD[name], range(SEEDS))


def test_refusals() -> None:
    random = np.random.default_rng(0)
    packed = floats(random, 1, 3, 2, 3, 4)
    assert "queries, keys and values in one operand" in refusal(
        node("MultiHeadAttention", packed, num_heads=2), packed[..., 0, :]
    )
    tokens = floats(random, 1, 3, 4)
    shared = np.zeros(1, np.int32)
    assert "buffers that past and present share" in refusal(
        node("MultiHeadAttention", *[tokens] * 3, *[None] * 5, shared, num_heads=2), tokens
    )

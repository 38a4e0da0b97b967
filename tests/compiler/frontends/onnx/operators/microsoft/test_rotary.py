"""Rotary embeddings: what ONNX Runtime computes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.attention_nodes import ROTARY
from tests.support.compiler.frontends.fused_nodes import floats
from tests.support.compiler.frontends.runtime_nodes import node
from tests.support.compiler.frontends.runtime_runs import drawn, refusal

SEEDS = 50


@pytest.mark.parametrize("name", ROTARY)
def test_one(name: str) -> None:
    drawn(ROTARY[name], range(3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ROTARY)
def test_many(name: str) -> None:
    drawn(ROTARY[name], range(SEEDS))


def test_refusals() -> None:
    random = np.random.default_rng(0)
    data, table, places = floats(random, 1, 3, 8), floats(random, 5, 2), np.zeros((1, 3), np.int64)
    rotary = ("RotaryEmbedding", data, places, table)
    assert "not supported: a scale" in refusal(node(*rotary, table, scale=2.0), data)
    assert "is_packed_batching" in refusal(node(*rotary, table, is_packed_batching=1), data)
    assert "cosines float32[5, 2] and sines float32[4, 2]" in refusal(
        node(*rotary, table[:4]), data
    )
    assert "positions int64[1, 2] of" in refusal(
        node("RotaryEmbedding", data, places[:, :2], table, table), data
    )

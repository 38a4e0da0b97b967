"""Layer normalisations of ONNX Runtime: what ONNX Runtime computes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.fused_nodes import NORMALISATIONS, floats
from tests.support.compiler.frontends.runtime_nodes import node
from tests.support.compiler.frontends.runtime_runs import drawn, refusal

SEEDS = 50


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_one(name: str) -> None:
    drawn(NORMALISATIONS[name], range(3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NORMALISATIONS)
def test_many(name: str) -> None:
    drawn(NORMALISATIONS[name], range(SEEDS))


def test_refusals() -> None:
    random = np.random.default_rng(0)
    data, scale = floats(random, 2, 3, 4), floats(random, 4)
    skip = ("SkipLayerNormalization", data)
    assert "float32[2, 1, 4] cannot be added to float32[2, 3, 4]" in refusal(
        node(*skip, data[:, :1], scale), data
    )
    words, table = np.zeros((1, 3), np.int32), floats(random, 5, 4)
    assert "of segments and their embedding, one is missing" in refusal(
        node("EmbedLayerNormalization", words, words, table, table, None, scale, scale), data[:1]
    )

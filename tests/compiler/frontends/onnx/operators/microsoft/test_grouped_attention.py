"""Attention in groups, with a cache: what ONNX Runtime computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import import_model
from tests.support.compiler.frontends.attention_nodes import GROUPED
from tests.support.compiler.frontends.random_nodes import RandomNode
from tests.support.compiler.frontends.runtime_runs import (
    declare,
    drawn,
    expected,
    feeds_of,
    model_of,
    refusal,
)

SEEDS = 50


@pytest.mark.parametrize("name", GROUPED)
def test_one(name: str) -> None:
    drawn(GROUPED[name], range(3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", GROUPED)
def test_many(name: str) -> None:
    drawn(GROUPED[name], range(SEEDS))


def test_refusals() -> None:
    made = GROUPED["GroupQueryAttention"](np.random.default_rng(0))
    data = made.operands[0]
    assert data is not None

    def why(changed: RandomNode) -> str:
        return refusal(replace(changed, outputs=1), data)

    def having(**attributes: object) -> RandomNode:
        return replace(made, attributes={**made.attributes, **attributes})

    assert "k_quant_type PER_TENSOR: a cache of integers" in why(having(k_quant_type="PER_TENSOR"))
    assert "sliding_window_cache 1" in why(having(sliding_window_cache=1))
    assert "causal 0" in why(having(causal=0))
    assert "local_window_size 0" in why(having(local_window_size=0))
    operands = [*made.operands, *[None] * (17 - len(made.operands))]
    operands[16] = np.ones(1, np.int32)
    assert "its operand query_seqlens" in why(replace(made, operands=tuple(operands)))
    assert "heads" in why(having(kv_num_heads=5))


def test_open_shapes() -> None:
    """Refused, with the extent that is open."""
    made = GROUPED["GroupQueryAttention"](np.random.default_rng(0))
    model = model_of(made)
    for output, array in zip(
        model.graph.output, expected(model, feeds_of(made, model)), strict=True
    ):
        declare(output, array)
    for info in (*model.graph.input, *model.graph.output):
        if len(info.type.tensor_type.shape.dim) > 2:
            info.type.tensor_type.shape.dim[0].dim_param = "batch"
    total = np.asarray(made.operands[6])
    with pytest.raises(
        FrontendError, match=r"not supported: queries float32\[batch, .* give shapes"
    ):
        import_model(model, values={"x6": total})

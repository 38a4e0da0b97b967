"""Layers that ONNX Runtime's optimiser joins: what ONNX Runtime computes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.fused_nodes import FUSED, floats
from tests.support.compiler.frontends.random_nodes import RandomNode
from tests.support.compiler.frontends.runtime_nodes import node
from tests.support.compiler.frontends.runtime_runs import differences, drawn, refusal

SEEDS = 50


@pytest.mark.parametrize("name", FUSED)
def test_one(name: str) -> None:
    drawn(FUSED[name], range(3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUSED)
def test_many(name: str) -> None:
    drawn(FUSED[name], range(SEEDS))


def test_activations_of_a_convolution() -> None:
    """Also those that the drawn ones may miss, before and behind the sum with another operand."""
    random = np.random.default_rng(0)
    data, weight = floats(random, 1, 2, 5, 5), floats(random, 3, 2, 1, 1)
    added = floats(random, 1, 3, 5, 5)
    for name, params in (("Relu", None), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4])):
        for other in (None, added):
            made = node(
                "FusedConv",
                *(data, weight, None, other),
                activation=name,
                activation_params=params,
            )
            differences(made)


def test_refusals() -> None:
    random = np.random.default_rng(0)
    data, weight = floats(random, 1, 2, 5, 5), floats(random, 3, 2, 1, 1)
    result = floats(random, 1, 3, 5, 5)

    def why(made: RandomNode) -> str:
        return refusal(made, result)

    conv = ("FusedConv", data, weight)
    assert "the activation Mish: Celu, Elu, " in why(node(*conv, activation="Mish"))
    assert "activation Clip has 1 parameters, of 2" in why(
        node(*conv, activation="Clip", activation_params=[1.0])
    )
    assert "activation LeakyRelu has 0 parameters, of 1" in why(node(*conv, activation="LeakyRelu"))
    assert "what is added is float32[1, 3, 4, 4], to float32[1, 3, 5, 5]" in why(
        node(*conv, None, result[..., :4, :4])
    )
    assert "a bias float32[3] of float32[1, 2, 5, 5]" in why(
        node("BiasGelu", data, floats(random, 3))
    )

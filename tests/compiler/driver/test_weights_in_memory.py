"""What an artifact's memory has of compressed weights."""

from __future__ import annotations

import pytest

from tandem.compiler.driver.weights_in_memory import in_memory
from tandem.runtime.artifact import StoredWeights
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.coded_graphs import CodedNet
from tests.support.compiler.plan.offloaded import both
from tests.support.compiler.plan.quantised_graphs import residual_net


def stored(layer: str, form: str = "int4") -> StoredWeights:
    return StoredWeights(layer, form, 2304, 1224, 16, results=(f"{layer}_acc", layer))


@pytest.mark.parametrize(
    ("config", "group", "told"),
    [
        ("small8-w", 8, "codes of 4 bits, scaled"),
        ("small8-w", 4, "int8: a scale is for a whole row of a block, 8 weights: groups"),
        ("small8-x", 8, "int8: nothing widens weights of this operator here"),
    ],
)
def test_a_layer_on_the_accelerator(config: str, group: int, told: str) -> None:
    net = CodedNet(5, group=group)
    _, shared = both(residual_net(channels=16, net=net), machine(config))
    (found,) = in_memory(shared, [stored("c2")])
    assert found.memory.startswith(told)


def test_layers_on_the_cpu() -> None:
    alone, _ = both(residual_net(channels=16, net=CodedNet(5, group=8)), machine("small8-w"))
    layers = [stored("c2"), stored("out"), stored("c3", "int8")]
    convolution, dense, plain = in_memory(alone, layers)
    assert convolution.memory == "int8: nothing widens weights of this operator here"
    assert dense.memory == "codes"
    assert plain.memory == ""

"""A first layer whose windows the processor packs, with weights as codes."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Function, Var
from tandem.hw.weight_formats import BINARY, INT4, TERNARY, WeightFormat
from tandem.runtime.artifact import Artifact, from_bytes, streams_of, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.coded_graphs import CodedNet
from tests.support.compiler.plan.offloaded import both, image, run_on


def network(weights: WeightFormat, channels: int, outputs: int = 16) -> Function:
    """One convolution, and logits."""
    net = CodedNet(3, formats=(weights,), group=8)
    x = net.quantise("x8", Var("x"))
    first = net.conv("first", x, (channels, outputs), kernel=3, stride=2)
    return net.function((1, channels, 8, 8), net.logits("out", first, outputs * 16, 16))


def remark(artifact: Artifact, layer: str) -> str:
    return next(
        layer_code.weights
        for stream in streams_of(artifact).values()
        for layer_code in stream.layers
        if layer_code.name == layer
    )


@pytest.mark.parametrize(
    ("weights", "channels", "outputs", "told"),
    [
        (TERNARY, 3, 16, "codes of 2 bits"),
        (TERNARY, 5, 12, "codes of 2 bits"),
        # 8 * 3 * 3 inputs are whole blocks of 8, 3 * 3 * 3 are not.
        (BINARY, 3, 16, "int8: blocks of 8 x 8 weights are filled up with zeros, and no code"),
        (INT4, 3, 16, "int8: a scale is for a whole row of a block, 8 weights: groups"),
    ],
)
def test_a_first_layer(weights: WeightFormat, channels: int, outputs: int, told: str) -> None:
    alone, shared = both(network(weights, channels, outputs), machine("small8-w"))
    assert any("pack_windows" in step.operators for step in shared.manifest.steps)
    assert remark(shared, "first").startswith(told)
    x = image((1, channels, 8, 8))
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs["out"]
    for engine in ("functional", "cycle"):
        found = run_on(from_bytes(to_bytes(shared)), engine, x)
        np.testing.assert_array_equal(found.outputs["out"], wanted)

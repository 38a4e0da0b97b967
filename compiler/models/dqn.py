"""The deep Q-network as an ONNX model, with random weights.

Mnih et al., Human-level control through deep reinforcement learning, Nature 2015: values of 18
actions from the last four frames of a game.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork
from tandem.compiler.models.network import Shape


def dqn(seed: int = 0) -> ModelProto:
    """The network of Nature 2015: `input` [N, 4, 84, 84] to `output` [N, 18]."""
    return _dqn("dqn", 84, (32, 64, 64), 512, 18, seed)


def dqn_tiny(seed: int = 0) -> ModelProto:
    """A small one: `input` [N, 4, 36, 36] to `output` [N, 6]."""
    return _dqn("dqn-tiny", 36, (8, 16, 16), 32, 6, seed)


def _dqn(
    name: str, extent: int, channels: Sequence[int], hidden: int, actions: int, seed: int
) -> ModelProto:
    network = ConvNetwork(np.random.default_rng(seed))
    x, inputs, size = "input", 4, extent
    for number, (outputs, (kernel, stride)) in enumerate(
        zip(channels, ((8, 4), (4, 2), (3, 1)), strict=True), 1
    ):
        kernel = min(kernel, size)
        layer = ConvLayer(outputs, inputs, kernel, stride, padding=0)
        x = network.conv(f"conv{number}", x, layer)
        x = network.node("Relu", [x], f"relu{number}")
        inputs, size = outputs, (size - kernel) // stride + 1
    x = network.node("Flatten", [x], "flatten", axis=1)
    x = network.dense("hidden", x, inputs * size * size, hidden)
    x = network.node("Relu", [x], "relu4")
    output = network.dense("values", x, hidden, actions, "output")
    frames: tuple[int, Shape] = (TensorProto.FLOAT, ("N", 4, extent, extent))
    return network.model(name, {"input": frames}, {output: ("N", actions)})

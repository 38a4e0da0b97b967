"""What MobileNetV3 and EfficientNet have in common: inverted blocks with squeeze and excitation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork

_REDUCTION = 4
"""Channels of a block, relative to those of its squeezed vector."""


@dataclass(frozen=True, slots=True)
class GatedBlock:
    """An inverted residual block: widens, filters each channel, gates channels, narrows.

    Attributes
    ----------
    width
        Channels in the middle.
    gated
        Whether channels are scaled by what their means say.
    activation
        The activation's kind, of `GatedNetwork.active`.
    """

    width: int
    outputs: int
    kernel: int
    stride: int
    gated: bool
    activation: str


class GatedNetwork(ConvNetwork):
    """A builder of such networks."""

    def active(self, name: str, x: str, kind: str) -> str:
        """Add an activation: `Relu`, `HardSwish`, or `Silu` as exporters write it."""
        if kind != "Silu":
            return self.node(kind, [x], name)
        return self.node("Mul", [x, self.node("Sigmoid", [x], f"{name}.sigmoid")], name)

    def layer(self, name: str, x: str, layer: ConvLayer, kind: str) -> str:
        """Add a convolution and its activation."""
        return self.active(f"{name}.on", self.conv(name, x, layer), kind)

    def gated(self, name: str, x: str, channels: int, hard: bool) -> str:
        """Add squeeze and excitation: two small layers on the means scale the channels."""
        narrow = channels // _REDUCTION
        y = self.node("GlobalAveragePool", [x], f"{name}.mean")
        y = self.conv(f"{name}.squeeze", y, ConvLayer(narrow, channels, 1))
        y = self.active(f"{name}.on", y, "Relu" if hard else "Silu")
        y = self.conv(f"{name}.excite", y, ConvLayer(channels, narrow, 1))
        y = self.node("HardSigmoid" if hard else "Sigmoid", [y], f"{name}.factors")
        return self.node("Mul", [x, y], name)

    def block(self, name: str, x: str, inputs: int, block: GatedBlock) -> str:
        """Add a block; a residual one if shapes allow."""
        width, kind = block.width, block.activation
        y = x
        if width != inputs:
            y = self.layer(f"{name}.expand", x, ConvLayer(width, inputs, 1), kind)
        filters = ConvLayer(width, width, block.kernel, block.stride, groups=width)
        y = self.layer(f"{name}.depthwise", y, filters, kind)
        if block.gated:
            y = self.gated(f"{name}.gate", y, width, hard=kind != "Silu")
        y = self.conv(f"{name}.project", y, ConvLayer(block.outputs, width, 1, scale=0.5))
        same = block.stride == 1 and inputs == block.outputs
        return self.node("Add", [x, y], name) if same else y


def gated_network(
    name: str, extent: int, blocks: Sequence[GatedBlock], head: int, activation: str
) -> ModelProto:
    """A classifier of such blocks: `input` [1, 3, extent, extent] to `output` [1, 10].

    `head` and `activation` are of the first and last layers.
    """
    network = GatedNetwork(np.random.default_rng(0))
    channels = 16
    x = network.layer("stem", "input", ConvLayer(channels, 3, 3, 2), activation)
    for number, block in enumerate(blocks):
        x = network.block(f"block{number}", x, channels, block)
        channels = block.outputs
    x = network.layer("head", x, ConvLayer(head, channels, 1), activation)
    x = network.node("GlobalAveragePool", [x], "mean")
    x = network.node("Flatten", [x], "flat", axis=1)
    network.dense("output", x, head, 10)
    image = {"input": (TensorProto.FLOAT, (1, 3, extent, extent))}
    return network.model(name, image, {"output": (1, 10)})

"""A small detector of the kind of YOLO: two scales, joined upwards, with boxes in all cells."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer
from tandem.scripts.bench.small.gated_convolutions import GatedNetwork

_EXTENT, _VALUES = 96, 3 * (5 + 4)
"""Pixels of a side; three boxes of a cell, with four classes."""


class _Detector(GatedNetwork):
    """A builder of its blocks; all activations are SiLU."""

    def bottleneck(self, name: str, x: str, channels: int) -> str:
        """Add a block of which one half of the channels goes through a residual layer."""
        half = channels // 2
        left = self.layer(f"{name}.left", x, ConvLayer(half, channels, 1), "Silu")
        right = self.layer(f"{name}.right", x, ConvLayer(half, channels, 1), "Silu")
        y = self.layer(f"{name}.first", left, ConvLayer(half, half, 1), "Silu")
        y = self.layer(f"{name}.second", y, ConvLayer(half, half, 3, scale=0.5), "Silu")
        left = self.node("Add", [left, y], f"{name}.sum")
        both = self.node("Concat", [left, right], f"{name}.both", axis=1)
        return self.layer(name, both, ConvLayer(channels, channels, 1), "Silu")

    def pooled(self, name: str, x: str, channels: int) -> str:
        """Add spatial pyramid pooling: maxima of three neighbourhoods beside the data."""
        parts = [self.layer(f"{name}.in", x, ConvLayer(channels // 2, channels, 1), "Silu")]
        for number in range(3):
            parts.append(
                self.node(
                    "MaxPool",
                    [parts[-1]],
                    f"{name}.max{number}",
                    kernel_shape=[5, 5],
                    pads=[2] * 4,
                    strides=[1, 1],
                )
            )
        both = self.node("Concat", parts, f"{name}.all", axis=1)
        return self.layer(name, both, ConvLayer(channels, 2 * channels, 1), "Silu")


def detector() -> ModelProto:
    """`input` [1, 3, 96, 96] to `boxes` [1, 27, N], N cells of both scales."""
    network = _Detector(np.random.default_rng(0))
    x = network.layer("stem", "input", ConvLayer(16, 3, 3, 2), "Silu")
    x = network.layer("down1", x, ConvLayer(32, 16, 3, 2), "Silu")
    x = network.bottleneck("stage1", x, 32)
    fine = network.layer("down2", x, ConvLayer(48, 32, 3, 2), "Silu")
    fine = network.bottleneck("stage2", fine, 48)
    coarse = network.layer("down3", fine, ConvLayer(64, 48, 3, 2), "Silu")
    coarse = network.pooled("pool", network.bottleneck("stage3", coarse, 64), 64)
    up = network.layer("lateral", coarse, ConvLayer(48, 64, 1), "Silu")
    network.weight("double", np.array([1.0, 1.0, 2.0, 2.0]))
    up = network.node("Resize", [up, "", "double"], "up", mode="nearest")
    fine = network.node("Concat", [up, fine], "joined", axis=1)
    fine = network.bottleneck("refined", fine, 96)
    boxes = []
    for name, x, channels in (("fine", fine, 96), ("coarse", coarse, 64)):
        y = network.conv(f"{name}.head", x, ConvLayer(_VALUES, channels, 1))
        y = network.node("Sigmoid", [y], f"{name}.values")
        shape = network.integers("cells", 1, _VALUES, -1)
        boxes.append(network.node("Reshape", [y, shape], f"{name}.cells"))
    network.node("Concat", boxes, "boxes", axis=2)
    cells = sum((_EXTENT // scale) ** 2 for scale in (8, 16))
    image = {"input": (TensorProto.FLOAT, (1, 3, _EXTENT, _EXTENT))}
    return network.model("detector", image, {"boxes": (1, _VALUES, cells)})

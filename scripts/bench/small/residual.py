"""A residual network of images: ResNet-8 of MLPerf Tiny's image classification."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork

_STAGES = ((16, 1), (32, 2), (64, 2))
"""Channels and stride of the blocks."""


def residual() -> ModelProto:
    """`input` [1, 3, 32, 32] to `output` [1, 10]."""
    network = ConvNetwork(np.random.default_rng(0))
    channels = _STAGES[0][0]
    x = network.node("Relu", [network.conv("stem", "input", ConvLayer(channels, 3, 3))], "stem.on")
    for number, (width, stride) in enumerate(_STAGES):
        stem = f"block{number}"
        y = network.conv(f"{stem}.first", x, ConvLayer(width, channels, 3, stride))
        y = network.node("Relu", [y], f"{stem}.on")
        y = network.conv(f"{stem}.second", y, ConvLayer(width, width, 3, scale=0.5))
        if stride > 1:
            x = network.conv(f"{stem}.short", x, ConvLayer(width, channels, 1, stride))
        x = network.node("Relu", [network.node("Add", [x, y], f"{stem}.sum")], stem)
        channels = width
    x = network.node("GlobalAveragePool", [x], "mean")
    x = network.node("Flatten", [x], "flat", axis=1)
    network.dense("output", x, channels, 10)
    image = {"input": (TensorProto.FLOAT, (1, 3, 32, 32))}
    return network.model("residual", image, {"output": (1, 10)})

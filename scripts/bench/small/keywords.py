"""A network of separable convolutions that spots words: DS-CNN of MLPerf Tiny."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork

_CHANNELS, _LAYERS = 64, 4
_FRAMES, _FEATURES = 49, 10


def keywords() -> ModelProto:
    """`input` [1, 1, 49, 10], frames of features, to `output` [1, 12]."""
    network = ConvNetwork(np.random.default_rng(0))
    weight = network.weight("stem.weight", network.normal((_CHANNELS, 1, 10, 4), 40))
    bias = network.weight("stem.bias", network.biases(_CHANNELS))
    sizes: dict[str, Any] = {"kernel_shape": [10, 4], "strides": [2, 2], "pads": [4, 1, 5, 1]}
    x = network.node("Conv", ["input", weight, bias], "stem", **sizes)
    x = network.node("Relu", [x], "stem.on")
    depthwise = ConvLayer(_CHANNELS, _CHANNELS, 3, groups=_CHANNELS)
    for number in range(_LAYERS):
        for part, layer in (("depth", depthwise), ("point", ConvLayer(_CHANNELS, _CHANNELS, 1))):
            x = network.conv(f"layer{number}.{part}", x, layer)
            x = network.node("Relu", [x], f"layer{number}.{part}.on")
    x = network.node("GlobalAveragePool", [x], "mean")
    x = network.node("Flatten", [x], "flat", axis=1)
    network.node("Softmax", [network.dense("words", x, _CHANNELS, 12)], "output", axis=-1)
    frames = {"input": (TensorProto.FLOAT, (1, 1, _FRAMES, _FEATURES))}
    return network.model("keywords", frames, {"output": (1, 12)})

"""A small U-Net (Ronneberger et al., MICCAI'15): two levels down and up, joined across."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork

_EXTENT, _WIDTHS = 48, (16, 32, 64)


class _Segmenter(ConvNetwork):
    """A builder of its blocks."""

    def twice(self, name: str, x: str, inputs: int, outputs: int) -> str:
        """Add two convolutions of 3 x 3 with ReLU."""
        x = self.node(
            "Relu", [self.conv(f"{name}.1", x, ConvLayer(outputs, inputs, 3))], f"{name}a"
        )
        return self.node(
            "Relu", [self.conv(f"{name}.2", x, ConvLayer(outputs, outputs, 3))], f"{name}b"
        )

    def doubled(self, name: str, x: str, inputs: int, outputs: int) -> str:
        """Add a transposed convolution of 2 x 2 with stride 2."""
        weight = self.weight(f"{name}.weight", self.normal((inputs, outputs, 2, 2), inputs))
        bias = self.weight(f"{name}.bias", self.biases(outputs))
        sizes = {"kernel_shape": [2, 2], "strides": [2, 2]}
        return self.node("ConvTranspose", [x, weight, bias], name, **sizes)


def segmenter() -> ModelProto:
    """`input` [1, 3, 48, 48] to `classes` [1, 4, 48, 48]."""
    network = _Segmenter(np.random.default_rng(0))
    x, channels, across = "input", 3, []
    for level, width in enumerate(_WIDTHS):
        if level:
            x = network.node(
                "MaxPool", [x], f"down{level}.pool", kernel_shape=[2, 2], strides=[2, 2]
            )
        x = network.twice(f"down{level}", x, channels, width)
        across.append(x)
        channels = width
    for level, width in reversed([*enumerate(_WIDTHS[:-1])]):
        x = network.doubled(f"up{level}.double", x, channels, width)
        x = network.node("Concat", [x, across[level]], f"up{level}.joined", axis=1)
        x = network.twice(f"up{level}", x, 2 * width, width)
        channels = width
    network.conv("classes", x, ConvLayer(4, channels, 1))
    image = {"input": (TensorProto.FLOAT, (1, 3, _EXTENT, _EXTENT))}
    return network.model("segmenter", image, {"classes": (1, 4, _EXTENT, _EXTENT)})

"""Convolutions with batch normalisation, of networks with random weights.

Weights have He initialisation, and batch normalisation has plausible statistics: activations of all
layers stay in the range of trained networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tandem.compiler.models.network import NetworkBuilder

EPSILON = 1e-5
"""What batch normalisation adds to a variance."""


@dataclass(frozen=True, slots=True)
class ConvLayer:
    """A convolution: output and input channels, kernel size, stride, batch-norm scale.

    Attributes
    ----------
    groups
        The number of groups of channels; as many as channels make the convolution depthwise.
    padding
        The border of zeros; None for half the kernel.
    """

    outputs: int
    inputs: int
    kernel: int
    stride: int = 1
    scale: float = 1.0
    groups: int = 1
    padding: int | None = None


@dataclass
class ConvNetwork(NetworkBuilder):
    """A builder of convolutional networks.

    Attributes
    ----------
    batch_norm
        Whether the model has BatchNormalization nodes; else they are folded into the convolutions,
        which computes the same function.
    """

    batch_norm: bool = False

    def conv(self, name: str, x: str, layer: ConvLayer) -> str:
        """Add a convolution with batch normalisation; returns the result's name."""
        shape = (layer.outputs, layer.inputs // layer.groups, layer.kernel, layer.kernel)
        deviation = np.sqrt(2.0 / prod(shape[1:]))
        weight = self.random.standard_normal(shape) * deviation
        uniform = self.random.uniform
        scale = uniform(0.8, 1.2, layer.outputs) * layer.scale
        bias, mean = self.biases(layer.outputs), self.biases(layer.outputs)
        variance = uniform(0.8, 1.2, layer.outputs)
        padding = layer.kernel // 2 if layer.padding is None else layer.padding
        attributes: dict[str, Any] = {
            "kernel_shape": [layer.kernel] * 2,
            "strides": [layer.stride] * 2,
            "pads": [padding] * 4,
        }
        if layer.groups > 1:
            attributes["group"] = layer.groups
        if self.batch_norm:
            inputs = [x, self.weight(f"{name}.weight", weight)]
            convolved = self.node("Conv", inputs, f"{name}.sum", **attributes)
            statistics = {"scale": scale, "bias": bias, "mean": mean, "variance": variance}
            parameters = [self.weight(f"{name}.{key}", each) for key, each in statistics.items()]
            return self.node("BatchNormalization", [convolved, *parameters], name, epsilon=EPSILON)
        factor = scale / np.sqrt(variance + EPSILON)
        inputs = [
            x,
            self.weight(f"{name}.weight", weight * factor[:, None, None, None]),
            self.weight(f"{name}.bias", bias - mean * factor),
        ]
        return self.node("Conv", inputs, name, **attributes)

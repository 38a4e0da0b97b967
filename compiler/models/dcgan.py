"""The generator of DCGAN as an ONNX model, with random weights.

Radford et al., Unsupervised representation learning with deep convolutional generative adversarial
networks, ICLR'16, with the shapes of PyTorch's example: kernels of 4 x 4. Batch normalisation is
folded into the transposed convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.network import NetworkBuilder, Shape

_KERNEL = 4


def dcgan(seed: int = 0) -> ModelProto:
    """The generator: `input` [1, 100, 1, 1], noise, to `output` [1, 3, 64, 64]."""
    return _dcgan("dcgan", (100, 512, 256, 128, 64, 3), seed)


def dcgan_tiny(seed: int = 0) -> ModelProto:
    """A small generator: `input` [1, 16, 1, 1] to `output` [1, 3, 16, 16]."""
    return _dcgan("dcgan-tiny", (16, 24, 16, 3), seed)


def _dcgan(name: str, channels: Sequence[int], seed: int) -> ModelProto:
    network = NetworkBuilder(np.random.default_rng(seed))
    x, last, extent = "input", len(channels) - 2, _KERNEL
    for number, (inputs, outputs) in enumerate(pairwise(channels)):
        # The first one has one pixel to read; of the others, four products reach each output pixel.
        summed = inputs if number == 0 else 4 * inputs
        shape = (inputs, outputs, _KERNEL, _KERNEL)
        stem = f"deconv{number + 1}"
        scale = 1.0 if number == last else np.sqrt(2.0)
        weight = network.weight(f"{stem}.weight", network.normal(shape, summed, scale))
        bias = network.weight(f"{stem}.bias", network.biases(outputs))
        stride, padding = (1, 0) if number == 0 else (2, 1)
        geometry = {"strides": [stride] * 2, "pads": [padding] * 4, "kernel_shape": [_KERNEL] * 2}
        x = network.node("ConvTranspose", [x, weight, bias], stem, **geometry)
        if number == last:
            x = network.node("Tanh", [x], "output")
        else:
            x = network.node("Relu", [x], f"relu{number + 1}")
            extent *= 2
    noise: tuple[int, Shape] = (TensorProto.FLOAT, (1, channels[0], 1, 1))
    return network.model(name, {"input": noise}, {x: (1, channels[-1], extent, extent)})

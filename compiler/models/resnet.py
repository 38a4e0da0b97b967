"""ResNet-18, 34 and 50 as ONNX models, with torchvision's shapes and random weights.

He et al., Deep Residual Learning for Image Recognition, CVPR'16; as in torchvision, a bottleneck's
stride is in its 3 x 3 convolution.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork
from tandem.compiler.models.network import Shape

_BRANCH_SCALE = 0.5
"""The batch-norm scale at the end of a residual branch; with 1, values would grow with depth."""


def resnet18(seed: int = 0, *, batch_norm: bool = False) -> ModelProto:
    """ResNet-18: `input` [N, 3, 224, 224] to `output` [N, 1000].

    Parameters
    ----------
    batch_norm
        Whether the model has BatchNormalization nodes; else they are folded into the convolutions,
        which computes the same function.
    """
    return _resnet("resnet18", (2, 2, 2, 2), False, seed, batch_norm)


def resnet34(seed: int = 0, *, batch_norm: bool = False) -> ModelProto:
    """ResNet-34, with the inputs and parameters of `resnet18`."""
    return _resnet("resnet34", (3, 4, 6, 3), False, seed, batch_norm)


def resnet50(seed: int = 0, *, batch_norm: bool = False) -> ModelProto:
    """ResNet-50, with bottleneck blocks; inputs and parameters as of `resnet18`."""
    return _resnet("resnet50", (3, 4, 6, 3), True, seed, batch_norm)


class _Residual(ConvNetwork):
    """A builder of residual networks."""

    def block(
        self, name: str, x: str, inputs: int, width: int, stride: int, bottleneck: bool
    ) -> str:
        """Add a residual block, whose first 3 x 3 convolution has `width` channels and `stride`."""
        outputs = 4 * width if bottleneck else width
        layers: tuple[ConvLayer, ...]
        if bottleneck:
            layers = (
                ConvLayer(width, inputs, 1),
                ConvLayer(width, width, 3, stride),
                ConvLayer(outputs, width, 1, scale=_BRANCH_SCALE),
            )
        else:
            layers = (
                ConvLayer(width, inputs, 3, stride),
                ConvLayer(width, width, 3, scale=_BRANCH_SCALE),
            )
        y = x
        for number, layer in enumerate(layers, 1):
            y = self.conv(f"{name}.conv{number}", y, layer)
            if layer is not layers[-1]:
                y = self.node("Relu", [y], f"{name}.relu{number}")
        if stride > 1 or inputs != outputs:
            x = self.conv(f"{name}.downsample", x, ConvLayer(outputs, inputs, 1, stride))
        total = self.node("Add", [y, x], f"{name}.add")
        return self.node("Relu", [total], f"{name}.relu")


def _resnet(
    name: str, depths: Sequence[int], bottleneck: bool, seed: int, batch_norm: bool
) -> ModelProto:
    network = _Residual(np.random.default_rng(seed), batch_norm=batch_norm)
    x = network.conv("conv1", "input", ConvLayer(64, 3, 7, 2))
    x = network.node("Relu", [x], "relu")
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    x = network.node("MaxPool", [x], "maxpool", **window)
    channels = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for number in range(depth):
            stride = 2 if stage and not number else 1
            x = network.block(f"layer{stage + 1}.{number}", x, channels, width, stride, bottleneck)
            channels = 4 * width if bottleneck else width
    x = network.node("GlobalAveragePool", [x], "avgpool")
    x = network.node("Flatten", [x], "flatten", axis=1)
    output = network.dense("fc", x, channels, 1000, "output")
    image: tuple[int, Shape] = (TensorProto.FLOAT, ("N", 3, 224, 224))
    return network.model(name, {"input": image}, {output: ("N", 1000)})

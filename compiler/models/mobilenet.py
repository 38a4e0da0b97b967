"""MobileNet v1 and v2 as ONNX models, with random weights.

Howard et al., MobileNets, 2017 (arXiv 1704.04861), table 1; Sandler et al., MobileNetV2, CVPR'18,
table 2, with torchvision's shapes. The tiny ones have every kind of layer, on images of 32 x 32.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork
from tandem.compiler.models.network import Shape

_V1 = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)
"""Channels and stride of the separable layers of version 1."""
_V1_TINY = ((24, 1), (40, 2), (40, 1))
_V2 = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)
"""Expansion, channels, depth and stride of the stages of version 2."""
_V2_TINY = ((1, 8, 1, 1), (4, 12, 2, 2))
_BRANCH_SCALE = 0.5
"""The batch-norm scale at the end of a residual branch."""


def mobilenet_v1(seed: int = 0, *, batch_norm: bool = False) -> ModelProto:
    """MobileNet v1 of width 1: `input` [N, 3, 224, 224] to `output` [N, 1000].

    Parameters
    ----------
    batch_norm
        As of `resnet18`.
    """
    return _v1("mobilenet-v1", 224, 32, _V1, 1000, seed, batch_norm)


def mobilenet_v1_tiny(seed: int = 0, *, batch_norm: bool = False) -> ModelProto:
    """A small MobileNet v1: `input` [N, 3, 32, 32] to `output` [N, 10]."""
    return _v1("mobilenet-v1-tiny", 32, 16, _V1_TINY, 10, seed, batch_norm)


def mobilenet_v2(seed: int = 0, *, batch_norm: bool = False) -> ModelProto:
    """MobileNet v2 of width 1; inputs, output and parameters as of `mobilenet_v1`."""
    return _v2("mobilenet-v2", 224, (32, 1280), _V2, 1000, seed, batch_norm)


def mobilenet_v2_tiny(seed: int = 0, *, batch_norm: bool = False) -> ModelProto:
    """A small MobileNet v2: `input` [N, 3, 32, 32] to `output` [N, 10]."""
    return _v2("mobilenet-v2-tiny", 32, (8, 40), _V2_TINY, 10, seed, batch_norm)


class _MobileNet(ConvNetwork):
    """A builder of networks of depthwise and pointwise convolutions."""

    def active(self, name: str, x: str, layer: ConvLayer, *, limit: float | None) -> str:
        """Add a convolution and its ReLU, which `limit` bounds above."""
        y = self.conv(name, x, layer)
        if limit is None:
            return self.node("Relu", [y], f"{name}.relu")
        for key, bound in (("zero", 0.0), ("six", limit)):
            self.weight(key, np.array(bound))
        return self.node("Clip", [y, "zero", "six"], f"{name}.relu6")

    def inverted(self, name: str, x: str, inputs: int, block: tuple[int, int, int]) -> str:
        """Add a residual block of version 2: `block` has expansion, outputs and stride."""
        expansion, outputs, stride = block
        width = expansion * inputs
        y = x
        if expansion > 1:
            y = self.active(f"{name}.expand", y, ConvLayer(width, inputs, 1), limit=6.0)
        depthwise = ConvLayer(width, width, 3, stride, groups=width)
        y = self.active(f"{name}.depthwise", y, depthwise, limit=6.0)
        residual = stride == 1 and inputs == outputs
        scale = _BRANCH_SCALE if residual else 1.0
        y = self.conv(f"{name}.project", y, ConvLayer(outputs, width, 1, scale=scale))
        return self.node("Add", [x, y], f"{name}.add") if residual else y

    def classified(self, name: str, x: str, channels: int, classes: int, extent: int) -> ModelProto:
        """Add the mean over the image and the classes; returns the model."""
        x = self.node("GlobalAveragePool", [x], "avgpool")
        x = self.node("Flatten", [x], "flatten", axis=1)
        output = self.dense("classifier", x, channels, classes, "output")
        image: tuple[int, Shape] = (TensorProto.FLOAT, ("N", 3, extent, extent))
        return self.model(name, {"input": image}, {output: ("N", classes)})


def _v1(
    name: str,
    extent: int,
    width: int,
    layers: Sequence[tuple[int, int]],
    classes: int,
    seed: int,
    batch_norm: bool,
) -> ModelProto:
    network = _MobileNet(np.random.default_rng(seed), batch_norm=batch_norm)
    x = network.active("conv1", "input", ConvLayer(width, 3, 3, 2), limit=None)
    channels = width
    for number, (outputs, stride) in enumerate(layers, 1):
        stem = f"layer{number}"
        depthwise = ConvLayer(channels, channels, 3, stride, groups=channels)
        x = network.active(f"{stem}.depthwise", x, depthwise, limit=None)
        x = network.active(f"{stem}.pointwise", x, ConvLayer(outputs, channels, 1), limit=None)
        channels = outputs
    return network.classified(name, x, channels, classes, extent)


def _v2(
    name: str,
    extent: int,
    ends: tuple[int, int],
    stages: Sequence[tuple[int, int, int, int]],
    classes: int,
    seed: int,
    batch_norm: bool,
) -> ModelProto:
    network = _MobileNet(np.random.default_rng(seed), batch_norm=batch_norm)
    channels, last = ends
    x = network.active("conv1", "input", ConvLayer(channels, 3, 3, 2), limit=6.0)
    for stage, (expansion, outputs, depth, stride) in enumerate(stages, 1):
        for number in range(depth):
            block = (expansion, outputs, 1 if number else stride)
            x = network.inverted(f"block{stage}.{number}", x, channels, block)
            channels = outputs
    x = network.active("head", x, ConvLayer(last, channels, 1), limit=6.0)
    return network.classified(name, x, last, classes, extent)

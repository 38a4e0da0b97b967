"""The four networks of MLPerf Tiny as ONNX models, with random weights.

Banbury et al., MLPerf Tiny Benchmark, 2021 (arXiv 2106.07597), table 2; shapes as in the reference
models (`mlcommons/tiny`), with batch normalisation folded into the layers before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Final

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.convolutions import ConvLayer, ConvNetwork

_BRANCH_SCALE: Final = 0.5
_SEPARABLE: Final = (
    *((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)),
    *((128, 1),) * 5,
    *((256, 2), (256, 1)),
)
"""Channels and stride of the separable layers of MobileNet v1 at a quarter of its width."""


class _Network(ConvNetwork):
    """A builder of small classifiers of images."""

    def active(self, name: str, x: str, layer: ConvLayer) -> str:
        """Add a convolution and ReLU."""
        return self.node("Relu", [self.conv(name, x, layer)], f"{name}.relu")

    def separable(self, name: str, x: str, inputs: int, outputs: int, stride: int) -> str:
        """Add a depthwise and a pointwise convolution, with ReLU behind both."""
        x = self.active(f"{name}.depthwise", x, ConvLayer(inputs, inputs, 3, stride, groups=inputs))
        return self.active(f"{name}.pointwise", x, ConvLayer(outputs, inputs, 1))

    def classified(
        self, name: str, x: str, channels: int, classes: int, image: tuple[int, ...]
    ) -> ModelProto:
        """Add the mean over the image, the classes and their probabilities; returns the model."""
        x = self.node("GlobalAveragePool", [x], "avgpool")
        x = self.node("Flatten", [x], "flatten", axis=1)
        x = self.dense("classifier", x, channels, classes)
        self.node("Softmax", [x], "output", axis=-1)
        return self.model(name, {"input": (TensorProto.FLOAT, image)}, {"output": (1, classes)})


def _network() -> _Network:
    return _Network(np.random.default_rng(0))


def resnet8() -> ModelProto:
    """Image classification: `input` [1, 3, 32, 32] to `output` [1, 10]."""
    network = _network()
    x = network.active("conv1", "input", ConvLayer(16, 3, 3))
    channels = 16
    for number, outputs in enumerate((16, 32, 64), 1):
        stride, stem = 1 if outputs == channels else 2, f"stack{number}"
        y = network.active(f"{stem}.conv1", x, ConvLayer(outputs, channels, 3, stride))
        y = network.conv(f"{stem}.conv2", y, ConvLayer(outputs, outputs, 3, scale=_BRANCH_SCALE))
        if stride > 1:
            x = network.conv(f"{stem}.shortcut", x, ConvLayer(outputs, channels, 1, stride))
        x = network.node("Relu", [network.node("Add", [x, y], f"{stem}.add")], f"{stem}.relu")
        channels = outputs
    return network.classified("resnet8", x, channels, 10, (1, 3, 32, 32))


def mobilenet_quarter() -> ModelProto:
    """Visual wake words: `input` [1, 3, 96, 96] to `output` [1, 2]."""
    network = _network()
    x = network.active("conv1", "input", ConvLayer(8, 3, 3, 2))
    channels = 8
    for number, (outputs, stride) in enumerate(_SEPARABLE, 1):
        x = network.separable(f"layer{number}", x, channels, outputs, stride)
        channels = outputs
    return network.classified("mobilenet-v1-0.25", x, channels, 2, (1, 3, 96, 96))


def ds_cnn() -> ModelProto:
    """Keyword spotting: `input` [1, 1, 49, 10], coefficients over time, to `output` [1, 12]."""
    network = _network()
    weight = network.weight("conv1.weight", network.normal((64, 1, 10, 4), 40, 2**0.5))
    bias = network.weight("conv1.bias", network.biases(64))
    # As TensorFlow pads for "same" with a stride of 2: 25 x 5 results.
    pads = [4, 1, 5, 1]
    x = network.node("Conv", ["input", weight, bias], "conv1", strides=[2, 2], pads=pads)
    x = network.node("Relu", [x], "conv1.relu")
    for number in range(4):
        x = network.separable(f"layer{number}", x, 64, 64, 1)
    return network.classified("ds-cnn", x, 64, 12, (1, 1, 49, 10))


def autoencoder() -> ModelProto:
    """Anomaly detection: `input` [1, 640], a spectrogram's window, to `output` [1, 640]."""
    network = _network()
    widths = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128)
    x = "input"
    for number, (inputs, outputs) in enumerate(pairwise(widths), 1):
        y = network.dense(f"layer{number}", x, inputs, outputs)
        x = network.node("Relu", [y], f"layer{number}.relu")
    network.dense("restored", x, widths[-1], 640, "output")
    inputs_of = {"input": (TensorProto.FLOAT, (1, 640))}
    return network.model("autoencoder", inputs_of, {"output": (1, 640)})


MLPERF_TINY: Final[Mapping[str, Callable[[], ModelProto]]] = MappingProxyType(
    {
        "resnet8": resnet8,
        "mobilenet-v1-0.25": mobilenet_quarter,
        "ds-cnn": ds_cnn,
        "autoencoder": autoencoder,
    }
)
"""The networks by name."""

"""ResNet-18, 34 and 50 as ONNX models, with torchvision's shapes and random weights.

He et al., Deep Residual Learning for Image Recognition, CVPR'16; as in torchvision, a bottleneck's
stride is in its 3 x 3 convolution. Weights have He initialisation, and batch normalisation has
plausible statistics: activations of all layers stay in the range of trained networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

_OPSET = 17
_IR_VERSION = 8
"""The IR version released with the opset, for old tools."""
_EPSILON = 1e-5
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


@dataclass(frozen=True, slots=True)
class _Conv:
    """A convolution: output and input channels, kernel size, stride, batch-norm scale."""

    outputs: int
    inputs: int
    kernel: int
    stride: int = 1
    scale: float = 1.0


class _Network:
    """A builder of an ONNX graph: collects nodes and initialisers."""

    def __init__(self, seed: int, batch_norm: bool) -> None:
        self._random = np.random.default_rng(seed)
        self._batch_norm = batch_norm
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def node(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Add a node whose result has the node's name."""
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """Add an initialiser and return its name."""
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def conv(self, name: str, x: str, layer: _Conv) -> str:
        """Add a convolution with batch normalisation; returns the result's name."""
        shape = (layer.outputs, layer.inputs, layer.kernel, layer.kernel)
        deviation = np.sqrt(2.0 / prod(shape[1:]))
        weight = self._random.standard_normal(shape) * deviation
        uniform = self._random.uniform
        scale = uniform(0.8, 1.2, layer.outputs) * layer.scale
        bias, mean = (0.1 * self._random.standard_normal(layer.outputs) for _ in range(2))
        variance = uniform(0.8, 1.2, layer.outputs)
        padding = layer.kernel // 2
        attributes = {
            "kernel_shape": [layer.kernel] * 2,
            "strides": [layer.stride] * 2,
            "pads": [padding] * 4,
        }
        if self._batch_norm:
            inputs = [x, self.weight(f"{name}.weight", weight)]
            convolved = self.node("Conv", inputs, f"{name}.sum", **attributes)
            statistics = {"scale": scale, "bias": bias, "mean": mean, "variance": variance}
            parameters = [self.weight(f"{name}.{key}", each) for key, each in statistics.items()]
            return self.node("BatchNormalization", [convolved, *parameters], name, epsilon=_EPSILON)
        factor = scale / np.sqrt(variance + _EPSILON)
        inputs = [
            x,
            self.weight(f"{name}.weight", weight * factor[:, None, None, None]),
            self.weight(f"{name}.bias", bias - mean * factor),
        ]
        return self.node("Conv", inputs, name, **attributes)

    def block(
        self, name: str, x: str, inputs: int, width: int, stride: int, bottleneck: bool
    ) -> str:
        """Add a residual block, whose first 3 x 3 convolution has `width` channels and `stride`."""
        outputs = 4 * width if bottleneck else width
        layers: tuple[_Conv, ...]
        if bottleneck:
            layers = (
                _Conv(width, inputs, 1),
                _Conv(width, width, 3, stride),
                _Conv(outputs, width, 1, scale=_BRANCH_SCALE),
            )
        else:
            layers = (
                _Conv(width, inputs, 3, stride),
                _Conv(width, width, 3, scale=_BRANCH_SCALE),
            )
        y = x
        for number, layer in enumerate(layers, 1):
            y = self.conv(f"{name}.conv{number}", y, layer)
            if layer is not layers[-1]:
                y = self.node("Relu", [y], f"{name}.relu{number}")
        if stride > 1 or inputs != outputs:
            x = self.conv(f"{name}.downsample", x, _Conv(outputs, inputs, 1, stride))
        total = self.node("Add", [y, x], f"{name}.add")
        return self.node("Relu", [total], f"{name}.relu")

    def dense(self, name: str, x: str, inputs: int, outputs: int) -> str:
        """Add a dense layer; returns `output`, the name of its result and of the graph's."""
        weight = self._random.standard_normal((outputs, inputs)) / np.sqrt(inputs)
        bias = 0.1 * self._random.standard_normal(outputs)
        parameters = [self.weight(f"{name}.weight", weight), self.weight(f"{name}.bias", bias)]
        self.nodes.append(helper.make_node("Gemm", [x, *parameters], ["output"], name, transB=1))
        return "output"


def _resnet(
    name: str, depths: Sequence[int], bottleneck: bool, seed: int, batch_norm: bool
) -> ModelProto:
    network = _Network(seed, batch_norm)
    x = network.conv("conv1", "input", _Conv(64, 3, 7, 2))
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
    output = network.dense("fc", x, channels, 1000)
    graph = helper.make_graph(
        network.nodes,
        name,
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, 224, 224])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["N", 1000])],
        network.weights,
    )
    opset = helper.make_opsetid("", _OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)

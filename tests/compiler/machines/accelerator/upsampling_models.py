"""ONNX models that enlarge images to the nearest pixel between convolutions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper

from tests.support.compiler.frontends.onnx_models import model


@dataclass
class _Nodes:
    """A model under construction: each method adds nodes, and returns the result's name."""

    nodes: list[NodeProto] = field(default_factory=list)
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def add(self, operator: str, *inputs: str, name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def conv(self, data: str, channels: tuple[int, int], name: str, kernel: int = 3) -> str:
        """A convolution and a ReLU."""
        inputs, outputs = channels
        weight = self.rng.standard_normal((outputs, inputs, kernel, kernel))
        self.weights[f"{name}_w"] = (weight * np.sqrt(2 / weight[0].size)).astype(np.float32)
        pads = [kernel // 2] * 4
        sums = self.add("Conv", data, f"{name}_w", name=f"{name}_sums", pads=pads)
        return self.add("Relu", sums, name=name)

    def pool(self, data: str, name: str) -> str:
        return self.add("MaxPool", data, name=name, kernel_shape=[2, 2], strides=[2, 2])

    def resize(self, data: str, factors: tuple[int, int], name: str, **attributes: str) -> str:
        """Resizing as PyTorch exports it, unless attributes say otherwise."""
        given = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        given = {"mode": "nearest", **given, **attributes}
        self.weights[f"{name}_scales"] = np.array([1, 1, *factors], np.float32)
        return self.add("Resize", data, "", f"{name}_scales", name=name, **given)

    def model(self, shape: tuple[int, ...], result: str) -> ModelProto:
        return model(self.nodes, {"x": shape}, [result], self.weights)


def unet(side: int = 8) -> ModelProto:
    """A U-Net with two levels: its halves are enlarged, and concatenated with what was before."""
    net = _Nodes()
    high = net.conv("x", (3, 16), "high")
    middle = net.conv(net.pool(high, "pool1"), (16, 16), "middle")
    low = net.conv(net.pool(middle, "pool2"), (16, 32), "low")
    joined = net.add("Concat", net.resize(low, (2, 2), "up1"), middle, name="c1", axis=1)
    decoded = net.conv(joined, (48, 16), "decoded")
    joined = net.add("Concat", net.resize(decoded, (2, 2), "up2"), high, name="c2", axis=1)
    result = net.conv(net.conv(joined, (32, 8), "last"), (8, 5), "classes", 1)
    return net.model((1, 3, side, side), result)


def pyramid(rows: int = 6, columns: int = 9) -> ModelProto:
    """A feature pyramid: images of channels that fill no block, enlarged by 2 x 3 and by 3 x 1, are
    added to larger ones."""
    net = _Nodes()
    form = {
        "coordinate_transformation_mode": "half_pixel",
        "nearest_mode": "round_prefer_floor",
    }
    large = net.conv("x", (3, 10), "large")
    wide = net.add("MaxPool", large, name="wide", kernel_shape=[3, 1], strides=[3, 1])
    wide = net.conv(wide, (10, 10), "wide_conv")
    small = net.add("MaxPool", wide, name="small", kernel_shape=[2, 3], strides=[2, 3])
    small = net.conv(small, (10, 10), "small_conv", 1)
    sum1 = net.add(
        "Add", net.resize(small, (2, 3), "up1"), net.conv(wide, (10, 10), "side1"), name="sum1"
    )
    sum2 = net.add(
        "Add",
        net.resize(net.conv(sum1, (10, 10), "smooth"), (3, 1), "up2", **form),
        net.conv(large, (10, 10), "side2", 1),
        name="sum2",
    )
    return net.model((1, 3, rows, columns), net.conv(sum2, (10, 6), "y"))

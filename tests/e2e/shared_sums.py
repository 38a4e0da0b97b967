"""Models with a layer whose result several operators read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper

from tests.e2e.seeded_models import convolution, larger, model_of, normal_input

Array = NDArray[Any]


class SumKind(Enum):
    """What computes the result that is shared."""

    CONV = "conv 3x3"
    POINTWISE = "conv 1x1"
    DEPTHWISE = "depthwise conv"
    TRANSPOSED = "transposed conv"
    RESIDUAL = "conv, plus the input"
    CLIPPED = "conv, clipped to -1..1"
    DENSE = "a matrix product"
    ACTIVATIONS = "a product of two activations"


class ReaderKind(Enum):
    """What becomes of the shared result."""

    ITSELF = "itself"
    RELU = "relu"
    CLIP = "clip to 0..1"
    NARROW = "clip to -0.5..0.25"
    LIMITLESS = "clip without limits"
    RELU_OF_CLIP = "relu of a clip to -0.5..6"
    SILU = "x * sigmoid(x)"
    HARD_SWISH = "x * clip(x + 3, 0, 6) / 6"
    GELU = "x * (1 + erf(x / sqrt(2))) / 2"
    LEAKY = "leaky relu"
    POOLED = "max pool, or the maximum with 0"
    LAYER = "a layer"
    LAYER_OF_RELU = "a layer of its relu"


@dataclass(frozen=True, slots=True)
class SharedSums:
    """A model in which `readers` read one result, and their values are joined.

    Attributes
    ----------
    join
        The operator that joins: Add, Concat, or Identity for several outputs.
    ends_in_layer
        Whether another layer reads what was joined.
    """

    kind: SumKind
    readers: tuple[ReaderKind, ...]
    join: str
    ends_in_layer: bool
    channels: int
    seed: int

    @property
    def data(self) -> dict[str, Array]:
        """Random inputs."""
        return normal_input(self.seed, self._shape)

    @property
    def model(self) -> ModelProto:
        """The model, whose input is `x`."""
        nodes = self._sums()
        values = []
        for number, reader in enumerate(self.readers):
            values.append(f"v{number}")
            nodes += self._reader(reader, values[-1])
        outputs = ["y"]
        if self.join == "Add":
            for number, value in enumerate(values[1:]):
                left = values[0] if number == 0 else f"t{number}"
                nodes.append(helper.make_node("Add", [left, value], [f"t{number + 1}"]))
            joined = f"t{len(values) - 1}" if len(values) > 1 else values[0]
        elif self.join == "Concat":
            nodes.append(
                helper.make_node("Concat", values, ["joined"], axis=1 if self._is_image else -1)
            )
            joined = "joined"
        else:
            outputs, joined = values, ""
        if joined:
            if self.ends_in_layer:
                nodes += self._layer("last", joined, "y")
            else:
                nodes.append(helper.make_node("Identity", [joined], ["y"]))
        return model_of(nodes, self._shape, outputs, self._weights())

    @property
    def _is_image(self) -> bool:
        return self.kind not in (SumKind.DENSE, SumKind.ACTIVATIONS)

    @property
    def _shape(self) -> tuple[int, ...]:
        match self.kind:
            case SumKind.DENSE:
                return (3, self.channels)
            case SumKind.ACTIVATIONS:
                return (2, self.channels, self.channels)
        return (1, self.channels, 5, 4)

    def _weights(self) -> dict[str, Array]:
        rng = np.random.default_rng(self.seed)

        def normal(*shape: int) -> Array:
            return rng.standard_normal(shape) / sqrt(prod(shape[1:]))

        width = self.channels
        joined = width * len(self.readers) if self.join == "Concat" else width
        image = (1, 1) if self._is_image else ()
        numbers = {"zero": 0, "quarter": 0.25, "half": 0.5, "one": 1, "three": 3, "six": 6}
        numbers |= {"low": -0.5, "minus": -1, "sixth": 1 / 6, "root": 2**-0.5}
        weights = {
            "w3": normal(width, width, 3, 3),
            "w1": normal(width, width, *image),
            "wd": normal(width, 1, 3, 3),
            "bias": normal(width) / 10,
            "inner": normal(width, width, *image),
            "inner_relu": normal(width, width, *image),
            "last": normal(width, joined, *image),
            **{name: np.array(number) for name, number in numbers.items()},
        }
        if not self._is_image:
            for name in ("w1", "inner", "inner_relu", "last"):
                weights[name] = weights[name].T
        return weights

    def _sums(self) -> list[NodeProto]:
        """The nodes that compute the shared result `a`."""
        node = helper.make_node
        match self.kind:
            case SumKind.CONV:
                return [convolution(["x", "w3", "bias"], "a")]
            case SumKind.POINTWISE:
                return [node("Conv", ["x", "w1"], ["a"])]
            case SumKind.DEPTHWISE:
                return [convolution(["x", "wd", "bias"], "a", groups=self.channels)]
            case SumKind.TRANSPOSED:
                return [larger(["x", "w3"], "a")]
            case SumKind.RESIDUAL:
                return [
                    convolution(["x", "w3", "bias"], "c"),
                    node("Add", ["c", "x"], ["a"]),
                ]
            case SumKind.CLIPPED:
                return [
                    convolution(["x", "w3", "bias"], "c"),
                    node("Clip", ["c", "minus", "one"], ["a"]),
                ]
            case SumKind.DENSE:
                return [node("MatMul", ["x", "w1"], ["a"])]
            case SumKind.ACTIVATIONS:
                return [
                    node("Transpose", ["x"], ["xt"], perm=[0, 2, 1]),
                    node("MatMul", ["x", "xt"], ["a"]),
                ]

    def _reader(self, reader: ReaderKind, name: str) -> list[NodeProto]:
        """The nodes that compute a reader's value."""
        node, inner = helper.make_node, [f"{name}_{number}" for number in range(4)]
        match reader:
            case ReaderKind.ITSELF:
                return [node("Identity", ["a"], [name])]
            case ReaderKind.RELU:
                return [node("Relu", ["a"], [name])]
            case ReaderKind.CLIP:
                return [node("Clip", ["a", "zero", "one"], [name])]
            case ReaderKind.NARROW:
                return [node("Clip", ["a", "low", "quarter"], [name])]
            case ReaderKind.LIMITLESS:
                return [node("Clip", ["a"], [name])]
            case ReaderKind.RELU_OF_CLIP:
                return [
                    node("Clip", ["a", "low", "six"], [inner[0]]),
                    node("Relu", [inner[0]], [name]),
                ]
            case ReaderKind.SILU:
                return [node("Sigmoid", ["a"], [inner[0]]), node("Mul", ["a", inner[0]], [name])]
            case ReaderKind.HARD_SWISH:
                return [
                    node("Add", ["a", "three"], [inner[0]]),
                    node("Clip", [inner[0], "zero", "six"], [inner[1]]),
                    node("Mul", ["a", inner[1]], [inner[2]]),
                    node("Mul", [inner[2], "sixth"], [name]),
                ]
            case ReaderKind.GELU:
                return [
                    *(node("Mul", ["a", "root"], [inner[0]]), node("Erf", [inner[0]], [inner[1]])),
                    node("Add", [inner[1], "one"], [inner[2]]),
                    node("Mul", ["a", inner[2]], [inner[3]]),
                    node("Mul", [inner[3], "half"], [name]),
                ]
            case ReaderKind.LEAKY:
                return [node("LeakyRelu", ["a"], [name])]
            case ReaderKind.POOLED if self._is_image:
                window: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
                return [node("MaxPool", ["a"], [name], **window)]
            case ReaderKind.POOLED:
                return [node("Max", ["a", "zero"], [name])]
            case ReaderKind.LAYER:
                return self._layer("inner", "a", name)
            case ReaderKind.LAYER_OF_RELU:
                relu = node("Relu", ["a"], [inner[0]])
                return [relu, *self._layer("inner_relu", inner[0], name)]

    def _layer(self, weight: str, of: str, name: str) -> list[NodeProto]:
        operator = "Conv" if self._is_image else "MatMul"
        return [helper.make_node(operator, [of, weight], [name])]

"""Layers of which some channels are damaged, as weight decay and pruning leave them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, helper

from tests.e2e.seeded_models import convolution, larger, model_of, normal_input

Array = NDArray[Any]


class LayerKind(Enum):
    """A layer, and what surrounds it."""

    POINTWISE = "conv 1x1"
    CONV = "conv 3x3"
    DEPTHWISE = "depthwise conv"
    CLIPPED = "conv and clip"
    RESIDUAL = "conv, residual and relu"
    NORMALISED = "conv and batch normalisation"
    TRANSPOSED = "transposed conv"
    GEMM = "gemm, relu and gemm"
    MATMUL = "matmul, add and matmul"


class Damage(Enum):
    """What becomes of a channel."""

    NONE = "none"
    DEAD = "weights of 1e-9 beside its bias"
    DENORMAL = "weights of 1e-39 beside its bias"
    ZERO = "weights of 0 beside its bias"
    WEAK = "weights a thousandth to a millionth of the others'"
    HOT = "weights a hundred times the others'"
    SATURATED = "a bias far beyond the others' range, and no weights"


@dataclass(frozen=True, slots=True)
class DamagedLayer:
    """A layer with damaged channels.

    Attributes
    ----------
    channels
        Output channels.
    inputs
        Input channels; a depthwise layer has as many as outputs.
    damaged
        Channels that are damaged.
    bias
        The bias of damaged channels.
    """

    kind: LayerKind
    damage: Damage
    channels: int
    inputs: int
    damaged: tuple[int, ...]
    bias: float
    seed: int

    @property
    def data(self) -> dict[str, Array]:
        """A random input."""
        return normal_input(self.seed, self._shape)

    @property
    def is_constant(self) -> bool:
        """Whether the damaged channels have no products to speak of."""
        return self.damage in (Damage.DEAD, Damage.DENORMAL, Damage.ZERO)

    @property
    def model(self) -> ModelProto:
        """The model, with `x` as its input and `y` as its output."""
        weights, nodes = self._layer()
        return model_of(nodes, self._shape, ["y"], weights)

    @property
    def _is_dense(self) -> bool:
        return self.kind in (LayerKind.GEMM, LayerKind.MATMUL)

    @property
    def _shape(self) -> tuple[int, ...]:
        return (3, self._inputs) if self._is_dense else (1, self._inputs, 5, 4)

    @property
    def _inputs(self) -> int:
        same = (LayerKind.DEPTHWISE, LayerKind.RESIDUAL)
        return self.channels if self.kind in same else self.inputs

    def _layer(self) -> tuple[dict[str, Array], list[Any]]:
        kernel = {LayerKind.POINTWISE: 1, LayerKind.GEMM: 1, LayerKind.MATMUL: 1}.get(self.kind, 3)
        terms = 1 if self.kind is LayerKind.DEPTHWISE else self._inputs
        rng = np.random.default_rng(self.seed)
        w = rng.standard_normal((self.channels, terms, kernel, kernel)) / kernel / np.sqrt(terms)
        b, gamma = rng.standard_normal(self.channels) / 10, rng.uniform(0.5, 1, self.channels)
        for channel in self.damaged:
            self._hurt(rng, gamma if self.kind is LayerKind.NORMALISED else w, b, channel)
        weights = {
            "w": w,
            "b": b,
            "gamma": gamma,
            "zeros": np.zeros(self.channels),
            "ones": np.ones(self.channels),
            "low": np.array(0.0),
            "high": np.array(1.0),
            "v": rng.standard_normal((self.channels, 9)) / np.sqrt(self.channels),
        }
        node = helper.make_node
        match self.kind:
            case LayerKind.POINTWISE | LayerKind.CONV:
                nodes = [convolution(["x", "w", "b"], "y", kernel)]
            case LayerKind.DEPTHWISE:
                nodes = [convolution(["x", "w", "b"], "y", groups=self.channels)]
            case LayerKind.CLIPPED:
                nodes = [
                    convolution(["x", "w", "b"], "c"),
                    node("Clip", ["c", "low", "high"], ["y"]),
                ]
            case LayerKind.RESIDUAL:
                nodes = [
                    convolution(["x", "w", "b"], "c"),
                    *(node("Add", ["c", "x"], ["s"]), node("Relu", ["s"], ["y"])),
                ]
            case LayerKind.NORMALISED:
                nodes = [
                    convolution(["x", "w"], "c"),
                    node("BatchNormalization", ["c", "gamma", "b", "zeros", "ones"], ["y"]),
                ]
            case LayerKind.TRANSPOSED:
                weights["w"] = w.transpose(1, 0, 2, 3)
                nodes = [larger(["x", "w", "b"], "y")]
            case LayerKind.GEMM:
                weights["w"] = w[:, :, 0, 0]
                nodes = [
                    node("Gemm", ["x", "w", "b"], ["c"], transB=1),
                    *(node("Relu", ["c"], ["r"]), node("Gemm", ["r", "v"], ["y"])),
                ]
            case LayerKind.MATMUL:
                weights["w"] = w[:, :, 0, 0].T
                nodes = [
                    *(node("MatMul", ["x", "w"], ["c"]), node("Add", ["c", "b"], ["s"])),
                    node("MatMul", ["s", "v"], ["y"]),
                ]
        return weights, nodes

    def _hurt(self, rng: np.random.Generator, w: Array, b: Array, channel: int) -> None:
        if self.damage is not Damage.NONE:
            b[channel] = self.bias
        match self.damage:
            case Damage.NONE:
                pass
            case Damage.DEAD:
                w[channel] = 1e-9
            case Damage.DENORMAL:
                w[channel] = 1e-39
            case Damage.ZERO:
                w[channel] = 0
            case Damage.WEAK:
                w[channel] *= 10 ** rng.uniform(-6, -3)
            case Damage.HOT:
                w[channel] *= 100
            case Damage.SATURATED:
                w[channel], b[channel] = 0, 1e4 * np.sign(self.bias)

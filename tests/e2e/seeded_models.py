"""Parts of small random models: an input, convolutions, and the model of some nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper

from tests.support.compiler.frontends.onnx_models import model, read_weights

Array = NDArray[Any]


def normal_input(seed: int, shape: tuple[int, ...]) -> dict[str, Array]:
    """Normal noise for the input `x`; other noise than that of weights from the same seed."""
    return {"x": np.random.default_rng([seed, 1]).standard_normal(shape).astype(np.float32)}


def model_of(
    nodes: Sequence[NodeProto],
    shape: tuple[int, ...],
    outputs: Sequence[str],
    weights: Mapping[str, Array],
) -> ModelProto:
    """The model of nodes that read the input `x`, of a shape, and weights, which become float32."""
    used = read_weights(nodes, weights)
    small = {name: array.astype(np.float32) for name, array in used.items()}
    return model(nodes, {"x": shape}, outputs, small)


def convolution(
    operands: Sequence[str], output: str, kernel: int = 3, groups: int = 1
) -> NodeProto:
    """A convolution that keeps the image's size."""
    return helper.make_node("Conv", operands, [output], group=groups, pads=[kernel // 2] * 4)


def larger(operands: Sequence[str], output: str) -> NodeProto:
    """A transposed convolution of 3 x 3 with stride 2."""
    return helper.make_node("ConvTranspose", operands, [output], strides=[2, 2], pads=[1] * 4)

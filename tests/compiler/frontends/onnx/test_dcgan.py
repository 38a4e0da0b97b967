"""DCGAN (Radford et al., ICLR'16), both networks: of PyTorch's operators, against ONNX Runtime."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.onnx_runs import agree

LATENT, COLOURS = 100, 3


def network(
    channels: list[int], shape: tuple[int, ...], *, generates: bool, seed: int = 0
) -> ModelProto:
    """Convolutions of 4 x 4, transposed if it generates, each but the last normalised."""
    rng = np.random.default_rng(seed)
    nodes: list[NodeProto] = []
    weights: dict[str, NDArray[Any]] = {}

    def add(operator: str, data: str, *given: NDArray[Any], **attributes: Any) -> str:
        names = [f"w{len(weights) + number}" for number in range(len(given))]
        weights.update(
            (name, array.astype(np.float32)) for name, array in zip(names, given, strict=True)
        )
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(operator, [data, *names], [name], **attributes))
        return name

    x = "x"
    layers = len(channels) - 1
    for layer, (inputs, outputs) in enumerate(pairwise(channels)):
        # The image of one pixel is where the generator begins, and the other network ends.
        alone = layer == (0 if generates else layers - 1)
        stride, pad = (1, 0) if alone else (2, 1)
        extents = (inputs, outputs) if generates else (outputs, inputs)
        weight = 0.1 * rng.standard_normal((*extents, 4, 4))
        operator = "ConvTranspose" if generates else "Conv"
        x = add(operator, x, weight, strides=[stride] * 2, pads=[pad] * 4, kernel_shape=[4, 4])
        if layer < layers - 1:
            if generates or layer:
                centred = 0.1 * rng.standard_normal((3, outputs))
                scale = np.abs(rng.standard_normal(outputs)) + 0.5
                x = add("BatchNormalization", x, centred[0] + 1, centred[1], centred[2], scale)
            x = add("Relu", x) if generates else add("LeakyRelu", x, alpha=0.2)
    nodes.append(helper.make_node("Tanh" if generates else "Sigmoid", [x], ["y"]))
    return model(nodes, {"x": shape}, ["y"], weights)


@pytest.mark.parametrize(
    "width",
    [pytest.param(64, marks=pytest.mark.exhaustive, id="whole"), pytest.param(4, id="thin")],
)
@pytest.mark.parametrize("generates", [True, False], ids=["generator", "discriminator"])
def test_against_onnx_runtime(generates: bool, width: int) -> None:
    wide = [width * each for each in (8, 4, 2, 1)]
    channels = [LATENT, *wide, COLOURS] if generates else [COLOURS, *reversed(wide), 1]
    shape = (2, LATENT, 1, 1) if generates else (2, COLOURS, 64, 64)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    agree(network(channels, shape, generates=generates), {"x": x}, 1e-4)

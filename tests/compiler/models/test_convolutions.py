"""Convolutions with batch normalisation: folded or not, they compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.models.convolutions import EPSILON, ConvLayer, ConvNetwork


def made(layer: ConvLayer, *, batch_norm: bool) -> Any:
    network = ConvNetwork(np.random.default_rng(0), batch_norm=batch_norm)
    assert network.conv("c", "x", layer) == "c"
    image = (TensorProto.FLOAT, (1, layer.inputs, 5, 5))
    return network.model("net", {"x": image}, {"c": ("N", "C", "H", "W")})


@pytest.mark.parametrize(
    "layer",
    [ConvLayer(6, 4, 3), ConvLayer(6, 4, 2, 2, 0.5, padding=0), ConvLayer(4, 4, 3, groups=4)],
)
def test_both_ways(layer: ConvLayer) -> None:
    x = np.random.default_rng(1).standard_normal((1, 4, 5, 5)).astype(np.float32)
    apart, folded = (made(layer, batch_norm=each) for each in (True, False))
    assert [node.op_type for node in apart.graph.node] == ["Conv", "BatchNormalization"]
    assert [node.op_type for node in folded.graph.node] == ["Conv"]
    one, other = (ReferenceEvaluator(each).run(None, {"x": x}) for each in (apart, folded))
    np.testing.assert_allclose([*one], [*other], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("layer", "attributes", "weight"),
    [
        (
            ConvLayer(6, 4, 3, 2),
            {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4},
            [6, 4, 3, 3],
        ),
        (
            ConvLayer(6, 4, 4, padding=0, groups=2),
            {"kernel_shape": [4, 4], "strides": [1, 1], "pads": [0] * 4, "group": 2},
            [6, 2, 4, 4],
        ),
        (
            ConvLayer(4, 4, 4),
            {"kernel_shape": [4, 4], "strides": [1, 1], "pads": [2] * 4},
            [4, 4, 4, 4],
        ),
    ],
)
def test_attributes(layer: ConvLayer, attributes: dict[str, Any], weight: list[int]) -> None:
    model = made(layer, batch_norm=True)
    convolution, norm = model.graph.node
    found = {each.name: list(each.ints) or each.i for each in convolution.attribute}
    assert found == attributes
    assert norm.attribute[0].f == pytest.approx(EPSILON)
    assert list(norm.input) == ["c.sum", "c.scale", "c.bias", "c.mean", "c.variance"]
    arrays = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    assert list(arrays["c.weight"].shape) == weight


def test_statistics() -> None:
    network = ConvNetwork(np.random.default_rng(0), batch_norm=True)
    network.conv("c", "x", ConvLayer(2000, 8, 1, scale=0.5))
    arrays = {name: numpy_helper.to_array(each) for name, each in network.weights.items()}
    # He: 2 over the products that are summed.
    assert arrays["c.weight"].std() == pytest.approx(np.sqrt(2 / 8), rel=0.03)
    for name, low, high in (("scale", 0.4, 0.6), ("variance", 0.8, 1.2)):
        values = arrays[f"c.{name}"]
        assert low <= values.min() < low + 0.01
        assert high - 0.01 < values.max() <= high

"""MobileNets: the layers of the papers' tables, and values, against sums by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from tandem.compiler.models.mobilenet import (
    mobilenet_v1,
    mobilenet_v1_tiny,
    mobilenet_v2,
    mobilenet_v2_tiny,
)

Array = NDArray[Any]
Conv = tuple[int, int, int, int, int]
"""Input and output channels, kernel, stride and groups."""


def weights_of(model: ModelProto) -> dict[str, Array]:
    return {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}


def attributes(node: NodeProto) -> dict[str, Any]:
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def convolutions(model: ModelProto) -> list[Conv]:
    shapes = {each.name: each.dims for each in model.graph.initializer}
    found = []
    for node in model.graph.node:
        if node.op_type == "Conv":
            given = attributes(node)
            outputs, inputs, kernel, _ = shapes[node.input[1]]
            groups = given.get("group", 1)
            assert given["strides"] == [given["strides"][0]] * 2
            assert given["pads"] == [kernel // 2] * 4
            found.append((inputs * groups, outputs, kernel, given["strides"][0], groups))
    return found


def separable(inputs: int, outputs: int, stride: int) -> list[Conv]:
    return [(inputs, inputs, 3, stride, inputs), (inputs, outputs, 1, 1, 1)]


def bottleneck(inputs: int, expansion: int, outputs: int, stride: int) -> list[Conv]:
    wide = inputs * expansion
    expand = [(inputs, wide, 1, 1, 1)] if expansion > 1 else []
    return [*expand, *separable(wide, outputs, stride)]


V1 = [
    (3, 32, 3, 2, 1),
    *separable(32, 64, 1),
    *separable(64, 128, 2),
    *separable(128, 128, 1),
    *separable(128, 256, 2),
    *separable(256, 256, 1),
    *separable(256, 512, 2),
    *separable(512, 512, 1) * 5,
    *separable(512, 1024, 2),
    *separable(1024, 1024, 1),
]
V1_TINY = [(3, 16, 3, 2, 1), *separable(16, 24, 1), *separable(24, 40, 2), *separable(40, 40, 1)]
V2 = [
    (3, 32, 3, 2, 1),
    *bottleneck(32, 1, 16, 1),
    *(*bottleneck(16, 6, 24, 2), *bottleneck(24, 6, 24, 1)),
    *(*bottleneck(24, 6, 32, 2), *bottleneck(32, 6, 32, 1) * 2),
    *(*bottleneck(32, 6, 64, 2), *bottleneck(64, 6, 64, 1) * 3),
    *(*bottleneck(64, 6, 96, 1), *bottleneck(96, 6, 96, 1) * 2),
    *(*bottleneck(96, 6, 160, 2), *bottleneck(160, 6, 160, 1) * 2),
    *bottleneck(160, 6, 320, 1),
    (320, 1280, 1, 1, 1),
]
V2_TINY = [
    (3, 8, 3, 2, 1),
    *bottleneck(8, 1, 8, 1),
    *(*bottleneck(8, 4, 12, 2), *bottleneck(12, 4, 12, 1)),
    (12, 40, 1, 1, 1),
]
TINY = (mobilenet_v1_tiny, mobilenet_v2_tiny)


@pytest.mark.parametrize(
    ("make", "name", "layers", "classes", "extent"),
    [
        (mobilenet_v1, "mobilenet-v1", V1, 1000, 224),
        (mobilenet_v1_tiny, "mobilenet-v1-tiny", V1_TINY, 10, 32),
        (mobilenet_v2, "mobilenet-v2", V2, 1000, 224),
        (mobilenet_v2_tiny, "mobilenet-v2-tiny", V2_TINY, 10, 32),
    ],
)
def test_layers(
    make: Callable[..., ModelProto], name: str, layers: list[Conv], classes: int, extent: int
) -> None:
    model = make()
    assert model.graph.name == name
    assert convolutions(model) == layers
    (image,), (result,) = model.graph.input, model.graph.output
    shapes = [
        [dim.dim_param or dim.dim_value for dim in port.type.tensor_type.shape.dim]
        for port in (image, result)
    ]
    assert (image.name, result.name) == ("input", "output")
    assert shapes == [["N", 3, extent, extent], ["N", classes]]
    inferred = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    values = {each.name: each.type.tensor_type.shape.dim for each in inferred.graph.value_info}
    assert [dim.dim_value for dim in values["flatten"]][1:] == [layers[-1][1]]
    kinds = [node.op_type for node in model.graph.node][-3:]
    assert kinds == ["GlobalAveragePool", "Flatten", "Gemm"]


@pytest.mark.parametrize(
    ("make", "parameters"), [(mobilenet_v1, 4_231_976), (mobilenet_v2, 3_504_872)]
)
def test_parameters(make: Callable[..., ModelProto], parameters: int) -> None:
    """Of the published networks, without running statistics."""
    model = make(batch_norm=True)
    sizes = {each.name: prod(each.dims) for each in model.graph.initializer}
    left_out = ("mean", "variance", "zero", "six")
    assert sum(n for name, n in sizes.items() if not name.endswith(left_out)) == parameters
    counts = [sum(node.op_type == kind for node in model.graph.node) for kind in ("Conv", "Gemm")]
    norms = sum(node.op_type == "BatchNormalization" for node in model.graph.node)
    assert counts == [norms, 1]


def test_activations() -> None:
    """ReLU in version 1, and its bounded one in version 2: none behind a projection."""
    first, second = (make() for make in TINY)
    kinds = [node.op_type for node in first.graph.node if node.op_type in ("Relu", "Clip")]
    assert kinds == ["Relu"] * 7
    clips = [node for node in second.graph.node if node.op_type == "Clip"]
    bounds = weights_of(second)
    assert {tuple(each.input[1:]) for each in clips} == {("zero", "six")}
    assert (bounds["zero"].tolist(), bounds["six"].tolist()) == (0.0, 6.0)
    # Of all convolutions but three projections.
    assert len(clips) == len(V2_TINY) - 3
    behind = {each.input[0] for each in clips}
    assert not any(name.endswith("project") for name in behind)


def test_blocks_of_equal_shape_have_a_branch_around_them() -> None:
    model = mobilenet_v2_tiny(batch_norm=True)
    adds = {node.name: list(node.input) for node in model.graph.node if node.op_type == "Add"}
    assert adds == {
        "block1.0.add": ["conv1.relu6", "block1.0.project"],
        "block2.1.add": ["block2.0.project", "block2.1.project"],
    }
    large = mobilenet_v2()
    assert sum(node.op_type == "Add" for node in large.graph.node) == 10
    # Their scales are half of others.
    scales = {name: each for name, each in weights_of(model).items() if name.endswith(".scale")}
    for name, scale in scales.items():
        half = name in ("block1.0.project.scale", "block2.1.project.scale")
        assert 0.8 <= scale.min() * (2 if half else 1) <= scale.max() * (2 if half else 1) <= 1.2


@pytest.mark.parametrize("make", TINY)
@pytest.mark.parametrize("batch_norm", [False, True])
def test_values(make: Callable[..., ModelProto], batch_norm: bool) -> None:
    """Folded or not, the layers one after the other."""
    model = make(3, batch_norm=batch_norm)
    onnx.checker.check_model(model, full_check=True)
    weights = weights_of(make(3))
    x = np.random.default_rng(1).standard_normal((1, 3, 32, 32))
    (found,) = ReferenceEvaluator(model).run(["output"], {"input": x.astype(np.float32)})
    values: dict[str, Array] = {"input": x}
    for node in make(3).graph.node:
        first = values[node.input[0]]
        match node.op_type:
            case "Conv":
                given = attributes(node)
                bias = weights[node.input[2]]
                values[node.output[0]] = convolved(first, weights[node.input[1]], bias, given)
            case "Relu" | "Clip":
                most = 6 if node.op_type == "Clip" else np.inf
                values[node.output[0]] = np.minimum(np.maximum(first, 0), most)
            case "Add":
                values[node.output[0]] = first + values[node.input[1]]
            case "GlobalAveragePool":
                values[node.output[0]] = first.mean((2, 3))
            case "Flatten":
                values[node.output[0]] = first
            case _:
                values["output"] = first @ weights[node.input[1]].T + weights[node.input[2]]
    np.testing.assert_allclose(np.asarray(found), values["output"], rtol=1e-3, atol=1e-4)


def convolved(x: Array, weight: Array, bias: Array, given: dict[str, Any]) -> Array:
    """A convolution of one image by its windows."""
    stride, pad, groups = given["strides"][0], given["pads"][0], given.get("group", 1)
    padded = np.pad(x[0], ((0, 0), (pad, pad), (pad, pad)))
    side = weight.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), (1, 2))
    windows = windows[:, ::stride, ::stride]
    windows = windows.reshape(groups, -1, *windows.shape[1:])
    by_group = weight.reshape(groups, -1, *weight.shape[1:])
    found = np.einsum("gcyxij,gocij->goyx", windows, by_group, optimize=True)
    return np.asarray(found.reshape(1, -1, *found.shape[2:]) + bias[:, None, None])


def test_the_seed_decides() -> None:
    first, again, other = (mobilenet_v2_tiny(seed).SerializeToString() for seed in (1, 1, 2))
    assert first == again != other
    with pytest.raises(TypeError):
        mobilenet_v2_tiny(0, True)  # type: ignore[call-arg]

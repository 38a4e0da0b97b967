"""Residual networks with weights of chance."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.types import TensorType
from tandem.compiler.models import BUILT_IN, built_in, resnet18, resnet34, resnet50

SIZES = {resnet18: 11_689_512, resnet34: 21_797_672, resnet50: 25_557_032}
"""Parameters of torchvision's networks, without running statistics."""
CONVOLUTIONS = {resnet18: 20, resnet34: 36, resnet50: 53}


def count(model: ModelProto, operator: str) -> int:
    return sum(node.op_type == operator for node in model.graph.node)


@pytest.mark.parametrize("make", SIZES)
def test_architecture(make: Callable[..., ModelProto]) -> None:
    model = make(batch_norm=True)
    weights = {each.name: prod(each.dims) for each in model.graph.initializer}
    statistics = sum(size for name, size in weights.items() if name.endswith(("mean", "variance")))
    assert sum(weights.values()) - statistics == SIZES[make]
    assert count(model, "Conv") == count(model, "BatchNormalization") == CONVOLUTIONS[make]
    imported = import_model(model)
    (image,) = imported.function.params
    assert str(image.type) == "float32[N, 3, 224, 224]"
    types = {let.name: let.type for let in imported.function.body.lets}
    assert str(types["output"]) == "float32[N, 1000]"
    last = types["avgpool"]
    assert isinstance(last, TensorType)
    assert last.shape[1] == (2048 if make is resnet50 else 512)


def test_normalisation_folds_into_weights() -> None:
    """The same layer either way: a pixel of the first convolution, by hand."""
    plain, normed = (
        {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
        for model in (resnet18(3), resnet18(3, batch_norm=True))
    )
    patch = np.random.default_rng(0).standard_normal((3, 7, 7))
    folded = (plain["conv1.weight"] * patch).sum((1, 2, 3)) + plain["conv1.bias"]
    scale, bias, mean, variance = (
        normed[f"conv1.{key}"] for key in ("scale", "bias", "mean", "variance")
    )
    summed = (normed["conv1.weight"] * patch).sum((1, 2, 3))
    wanted = (summed - mean) / np.sqrt(variance + 1e-5) * scale + bias
    np.testing.assert_allclose(folded, wanted, rtol=1e-4, atol=1e-4)


def test_the_seed_decides() -> None:
    first, again, other = (resnet18(seed).SerializeToString() for seed in (1, 1, 2))
    assert first == again != other


def test_built_in_models_are_legal() -> None:
    assert {"digits", "resnet18", "resnet34", "resnet50"} <= set(BUILT_IN)
    for name in ("digits", "resnet18"):
        onnx.checker.check_model(built_in(name), full_check=True)
    with pytest.raises(KeyError):
        built_in("resnet19")

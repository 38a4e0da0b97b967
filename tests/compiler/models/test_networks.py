"""The built-in networks with random weights: published sizes, legal models."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from math import prod

import onnx
import pytest
from onnx import ModelProto, TensorProto

from tandem.compiler.models import BUILT_IN, built_in
from tandem.compiler.models.mobilenet import mobilenet_v1, mobilenet_v2

PUBLISHED = {
    "mobilenet-v1": 4_231_976,
    "mobilenet-v2": 3_504_872,
    "dqn": 1_693_362,
    "dcgan": 3_576_704 - (512 + 256 + 128 + 64) + 3,
    "lstm": 19_780_400,
    "vit": 86_567_656,
    "bert": 109_482_240,
    "gpt2": 124_439_808,
    "llama": 134_515_008,
}
"""Parameters: of torchvision (MobileNet v2, ViT-B/16), of PyTorch's example of DCGAN, whose batch
normalisation has two numbers for a channel instead of a bias, of Hugging Face (bert-base-uncased,
gpt2, SmolLM-135M), of PyTorch's LSTM of the paper's size, and of the papers (the others)."""
MANY = 10_000_000
"""Parameters that take long to draw."""
TINY = [name for name in BUILT_IN if name.endswith("-tiny")]
CONSTANTS = ("attention.scale", "epsilon", "hide", "mask", "one", "rotary.cos", "rotary.sin", "two")
"""Initialisers of transformers that no training would change, next to integers."""


def parameters(model: ModelProto) -> int:
    return sum(
        prod(weight.dims)
        for weight in model.graph.initializer
        if weight.data_type == TensorProto.FLOAT and weight.name not in CONSTANTS
    )


def test_seeds_that_nobody_gives() -> None:
    """A network without a seed is the one that the command line runs."""
    makers: list[Callable[..., ModelProto]] = [built_in, *BUILT_IN.values()]
    all_parameters = [signature(make).parameters for make in makers]
    seeds = [each["seed"].default for each in all_parameters if "seed" in each]
    assert len(seeds) > len(BUILT_IN) - 2
    assert {*seeds} == {0}


@pytest.mark.parametrize("make", [mobilenet_v1, mobilenet_v2])
def test_parameters_of_mobilenets(make: Callable[..., ModelProto]) -> None:
    """Batch normalisation has a scale and a bias for each channel; mean and variance are no
    parameters."""
    model = make(batch_norm=True)
    statistics = sum(
        prod(weight.dims)
        for weight in model.graph.initializer
        if weight.name.endswith((".mean", ".variance"))
    )
    bounds = sum(not weight.dims for weight in model.graph.initializer)
    assert parameters(model) - statistics - bounds == PUBLISHED[model.graph.name]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.exhaustive] if size > MANY else [])
        for name, size in PUBLISHED.items()
        if not name.startswith("mobilenet")
    ],
)
def test_parameters(name: str) -> None:
    assert parameters(built_in(name)) == PUBLISHED[name]


OUTPUTS = {
    "mobilenet-v1-tiny": ["N", 10],
    "mobilenet-v2-tiny": ["N", 10],
    "dqn-tiny": ["N", 6],
    "dcgan-tiny": [1, 3, 16, 16],
    "lstm-tiny": [1, 5, 50],
    "vit-tiny": [1, 10],
    "bert-tiny": [1, 12, 32],
    "gpt2-tiny": [1, 12, 60],
    "gpt2-decode-tiny": [1, 1, 60],
    "llama-tiny": [1, 12, 60],
    "llama-decode-tiny": [1, 1, 60],
}
"""The shapes of first outputs, as the networks' docstrings say."""


@pytest.mark.parametrize("name", TINY)
def test_the_output_of_a_tiny_model(name: str) -> None:
    extents = built_in(name).graph.output[0].type.tensor_type.shape.dim
    assert [each.dim_param or each.dim_value for each in extents] == OUTPUTS[name]


@pytest.mark.parametrize("name", TINY)
def test_tiny_models_are_legal(name: str) -> None:
    model = built_in(name, 1)
    onnx.checker.check_model(model, full_check=True)
    assert model.graph.name == name
    again, other = built_in(name, 1), built_in(name, 2)
    assert model.SerializeToString() == again.SerializeToString() != other.SerializeToString()


@pytest.mark.parametrize("name", TINY)
def test_a_tiny_model_has_the_operators_of_its_standard(name: str) -> None:
    """And no more parameters than a test can afford."""
    model = built_in(name)
    assert parameters(model) < 25_000
    standard = name.removesuffix("-tiny")
    assert standard in BUILT_IN
    if PUBLISHED.get(standard, MANY) < MANY:
        found, wanted = (
            {node.op_type for node in network.graph.node} for network in (model, built_in(standard))
        )
        assert found == wanted

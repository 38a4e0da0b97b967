"""Convolutions to measure, as arguments of calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from onnx import ModelProto

from tandem.api.loading import model_of
from tandem.api.model import Model
from tandem.workbench.arguments import at_least, expect, value_errors
from tandem.workbench.errors import ConvolutionError
from tandem.workbench.utilization.conv_layers import (
    NUMBERS,
    RESNET18,
    ConvLayer,
    distinct,
    parse_layer,
)
from tandem.workbench.utilization.models import convolutions_of

Layers: TypeAlias = (
    Mapping[str, Sequence[int]]
    | Sequence[str | ConvLayer]
    | Model
    | ModelProto
    | str
    | os.PathLike[str]
    | None
)
"""Convolutions by name, each (height, width, input channels, output channels, window, stride,
padding); names of ResNet-18's (`C2` to `C11`); a model, whose convolutions are taken; None for all
of ResNet-18's but the first."""


def layers_of(layers: Layers) -> tuple[ConvLayer, ...]:
    """The convolutions of an argument. Raises as `layers_and_left_out`."""
    return layers_and_left_out(layers)[0]


def layers_and_left_out(layers: Layers) -> tuple[tuple[ConvLayer, ...], tuple[str, ...]]:
    """The convolutions of an argument, and the names of those of a model that nothing measures
    alone.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        No such convolution, an impossible one, or a model without any; says what is wanted.
    """
    with value_errors(ConvolutionError):
        if layers is None:
            return RESNET18, ()
        if isinstance(layers, Mapping):
            return tuple(_layer(name, numbers) for name, numbers in layers.items()), ()
        if isinstance(layers, Model | ModelProto | str | os.PathLike):
            model = model_of(layers)
            return convolutions_of(model.source.imported.function, model.name)
        if isinstance(layers, Sequence):
            return distinct([_named(layer) for layer in layers]), ()
    expect("layers", layers, "a mapping from names to numbers, names of layers, or a model")


def _named(layer: object) -> ConvLayer:
    if isinstance(layer, ConvLayer):
        return layer
    if not isinstance(layer, str):
        expect("a layer", layer, f"the name of one of ResNet-18's, or NAME={','.join(NUMBERS)}")
    return parse_layer(layer)


def _layer(name: str, numbers: object) -> ConvLayer:
    if not isinstance(numbers, Sequence) or len(numbers) != len(NUMBERS):
        expect(f"layer {name}", numbers, f"{len(NUMBERS)} numbers: {', '.join(NUMBERS)}")
    pairs = zip(NUMBERS, numbers, strict=True)
    return ConvLayer(name, *(at_least(f"layer {name}: {of}", number, 0) for of, number in pairs))

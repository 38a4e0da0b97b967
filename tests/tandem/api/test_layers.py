"""Convolutions as arguments."""

from __future__ import annotations

import re

import pytest

from tandem.api.layers import layers_and_left_out, layers_of
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError
from tandem.workbench.utilization.conv_layers import RESNET18, ConvLayer

OWN = ConvLayer("own", 8, 9, 3, 4, 3, 2, 1)


def test_layers() -> None:
    assert layers_and_left_out(None) == (RESNET18, ())
    assert layers_of({"own": (8, 9, 3, 4, 3, 2, 1)}) == (OWN,)
    assert layers_of({"own": [8, 9, 3, 4, 3, 2, 0]}) == (ConvLayer("own", 8, 9, 3, 4, 3, 2, 0),)
    assert layers_and_left_out(["C3", OWN, "other=8,9,3,4,3,2,1"]) == (
        (RESNET18[1], OWN, ConvLayer("other", 8, 9, 3, 4, 3, 2, 1)),
        (),
    )


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (3, "layers is 3: it must be a mapping from names to numbers, names of layers, or a model"),
        (
            [3],
            "a layer is 3: it must be the name of one of ResNet-18's, or NAME=H,W,IC,OC,K,STRIDE",
        ),
        ({"a": 3}, "layer a is 3: it must be 7 numbers: H, W, IC, OC, K, STRIDE, PAD"),
        ({"a": (1, 2)}, "layer a is (1, 2): it must be 7 numbers"),
        (
            {"a": (8, 9, 3, 4, 3, 2, 1.5)},
            "layer a: PAD is 1.5: it must be a whole number, 0 or more",
        ),
    ],
)
def test_types_that_are_refused(layers: object, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^{re.escape(message)}"):
        layers_of(layers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((8, 9, 3, 4, 3, 2, -1), "layer a: PAD is -1: it must be 0 or more"),
        ((0, 9, 3, 4, 3, 2, 0), "layer a: H is 0, and at least 1"),
    ],
)
def test_impossible_convolutions(numbers: tuple[int, ...], message: str) -> None:
    with pytest.raises(ArgumentValueError, match=f"^{re.escape(message)}"):
        layers_of({"a": numbers})

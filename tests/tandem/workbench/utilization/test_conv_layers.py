"""Convolutions by name: ResNet-18's table, texts, and what is refused."""

from __future__ import annotations

import re

import pytest

from tandem.workbench.errors import ConvolutionError
from tandem.workbench.utilization.conv_layers import (
    FIRST,
    RESNET18,
    ConvLayer,
    distinct,
    parse_layer,
)


def test_the_table_is_the_networks() -> None:
    """1.814 billion multiply-accumulates, says the paper's network; its last layer is no window."""
    total = FIRST.macs + sum(layer.macs * layer.count for layer in RESNET18)
    assert total + 512 * 1000 == 1_814_073_344
    assert [layer.name for layer in RESNET18] == [f"C{number}" for number in range(2, 12)]
    # Each makes the image of a later one, or the last.
    sizes = {layer.size for layer in RESNET18}
    assert sizes == {(56, 56), (28, 28), (14, 14), (7, 7)}


def test_a_layer() -> None:
    layer = parse_layer("mine=10,13,3,5,4,2,1")
    assert layer == ConvLayer("mine", 10, 13, 3, 5, kernel=4, stride=2, padding=1)
    assert layer.size == (5, 6)
    assert layer.macs == 5 * 6 * 5 * 3 * 4 * 4
    assert str(layer) == "10x13 3->5 4x4/2"
    assert parse_layer(" mine = 10, 13, 3, 5, 4, 2, 1") == layer


def test_known_names_come_as_often_as_in_the_network() -> None:
    assert parse_layer("C1") == FIRST
    assert [parse_layer(layer.name) for layer in RESNET18] == list(RESNET18)
    assert parse_layer("C2").count == 4
    assert parse_layer("C2=56,56,64,64,3,1,1").count == 1


@pytest.mark.parametrize(
    "text",
    [
        "a=",
        "a=1,2,3",
        "a=8,8,8,8,3,1,1,1",
        "a=8,8,8,8,3,1,-1",
        "a=8,8,8,8,3,1,1.0",
        "a=8,8,8,8,3,1,",
        "a=8,8,8,8,3,1,x",
        "a=8,8,8,8,3,1,\u0663",
        "a=b=8,8,8,8,3,1,1",
        "=8,8,8,8,3,1,1",
        " =8,8,8,8,3,1,1",
    ],
)
def test_a_text_that_is_no_layer(text: str) -> None:
    message = f"^layer {re.escape(repr(text))}: written NAME=H,W,IC,OC,K,STRIDE,PAD, seven whole"
    with pytest.raises(ConvolutionError, match=message):
        parse_layer(text)


@pytest.mark.parametrize("text", ["C12", "c2", "", "8,8,8,8,3,1,1"])
def test_an_unknown_name(text: str) -> None:
    with pytest.raises(
        ConvolutionError, match=rf"^layer '{text}': not one of ResNet-18's, C1, C2, "
    ):
        parse_layer(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=0,8,8,8,3,1,1", "H is 0, and at least 1"),
        ("a=8,0,8,8,3,1,1", "W is 0, and at least 1"),
        ("a=8,8,0,8,3,1,1", "IC is 0, and at least 1"),
        ("a=8,8,8,0,3,1,1", "OC is 0, and at least 1"),
        ("a=8,8,8,8,0,1,1", "K is 0, and at least 1"),
        ("a=8,8,8,8,3,0,1", "STRIDE is 0, and at least 1"),
        ("a=4,9,8,8,7,1,1", "a window of 7x7 is larger than the image, 6x11 with its padding"),
        ("a=9,4,8,8,7,1,1", "a window of 7x7 is larger than the image, 11x6 with its padding"),
        ("a=9,9,8192,8,3,1,1", r"a sum has IC \* K \* K = 73,728 products; .* may be 65,536"),
    ],
)
def test_numbers_that_make_no_convolution(text: str, message: str) -> None:
    with pytest.raises(ConvolutionError, match=f"^layer a: .*{message}$"):
        parse_layer(text)


def test_what_is_just_possible() -> None:
    assert parse_layer("a=4,4,1,1,6,1,1").size == (1, 1)
    assert parse_layer("a=1,1,65536,1,1,9,0").size == (1, 1)


def test_no_negative_padding_or_count() -> None:
    with pytest.raises(ConvolutionError, match=r"^layer a: PAD is -1, and at least 0$"):
        ConvLayer("a", 8, 8, 8, 8, 3, 1, -1)
    with pytest.raises(ConvolutionError, match=r"^layer a: count is 0, and at least 1$"):
        ConvLayer("a", 8, 8, 8, 8, 3, 1, 1, count=0)


def test_names_are_different() -> None:
    assert distinct(RESNET18) == RESNET18
    with pytest.raises(ConvolutionError, match=r"^layer C4: there are 2 of the name$"):
        distinct((*RESNET18, parse_layer("C4=8,8,8,8,3,1,1")))

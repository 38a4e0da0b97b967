"""Convolutions to measure: those of ResNet-18 by name, and others parsed from text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tandem.workbench.errors import ConvolutionError

NUMBERS = ("H", "W", "IC", "OC", "K", "STRIDE", "PAD")

LARGEST_SUM = 1 << 30
"""The largest sum of products, which 32 bits hold with its bias and rounding offset."""
MOST_PRODUCTS = LARGEST_SUM >> 14
"""The most products in a sum: a product of two int8 is up to 2^14."""


@dataclass(frozen=True, slots=True)
class ConvLayer:
    """A convolution of one image with square windows.

    Attributes
    ----------
    height, width
        Size of the image, without padding.
    inputs, outputs
        Numbers of channels.
    kernel, stride, padding
        Sizes that apply to both y and x; padding adds zeros on all four sides.
    count
        Number of occurrences in the network: the weight of the layer in the total.

    Raises
    ------
    ConvolutionError
        A number out of its range, a window larger than the padded image, sums over 32 bits.
    """

    name: str
    height: int
    width: int
    inputs: int
    outputs: int
    kernel: int
    stride: int
    padding: int
    count: int = 1

    def __post_init__(self) -> None:
        numbers = (self.height, self.width, self.inputs, self.outputs, self.kernel, self.stride)
        for what, value, least in (
            *((what, value, 1) for what, value in zip(NUMBERS, numbers, strict=False)),
            ("PAD", self.padding, 0),
            ("count", self.count, 1),
        ):
            if value < least:
                raise ConvolutionError(
                    f"layer {self.name}: {what} is {value}, and at least {least}"
                )
        tall, wide = self.height + 2 * self.padding, self.width + 2 * self.padding
        if self.kernel > min(tall, wide):
            raise ConvolutionError(
                f"layer {self.name}: a window of {self.kernel}x{self.kernel} is larger than the "
                f"image, {tall}x{wide} with its padding"
            )
        if self.products > MOST_PRODUCTS:
            raise ConvolutionError(
                f"layer {self.name}: a sum has IC * K * K = {self.products:,} products; for 32 "
                f"bits there may be {MOST_PRODUCTS:,}"
            )

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the result."""
        tall, wide = self.height + 2 * self.padding, self.width + 2 * self.padding
        return (tall - self.kernel) // self.stride + 1, (wide - self.kernel) // self.stride + 1

    @property
    def products(self) -> int:
        """Number of products per output element."""
        return self.inputs * self.kernel**2

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates.

        As usual, products with the zero padding of the image count; products with zeros that fill
        up blocks of channels do not.
        """
        rows, columns = self.size
        return rows * columns * self.outputs * self.products

    def __str__(self) -> str:
        step = f"/{self.stride}" if self.stride > 1 else ""
        window = f"{self.kernel}x{self.kernel}{step}"
        return f"{self.height}x{self.width} {self.inputs}->{self.outputs} {window}"


FIRST = ConvLayer("C1", 224, 224, 3, 64, 7, 2, 3)
"""ResNet-18's first convolution: three channels, so that most of the array is idle."""

RESNET18 = (
    ConvLayer("C2", 56, 56, 64, 64, 3, 1, 1, count=4),
    ConvLayer("C3", 56, 56, 64, 128, 3, 2, 1),
    ConvLayer("C4", 56, 56, 64, 128, 1, 2, 0),
    ConvLayer("C5", 28, 28, 128, 128, 3, 1, 1, count=3),
    ConvLayer("C6", 28, 28, 128, 256, 3, 2, 1),
    ConvLayer("C7", 28, 28, 128, 256, 1, 2, 0),
    ConvLayer("C8", 14, 14, 256, 256, 3, 1, 1, count=3),
    ConvLayer("C9", 14, 14, 256, 512, 3, 2, 1),
    ConvLayer("C10", 14, 14, 256, 512, 1, 2, 0),
    ConvLayer("C11", 7, 7, 512, 512, 3, 1, 1, count=3),
)
"""ResNet-18's other convolutions (He et al., CVPR'16, table 1), named as in VTA's benchmark."""

_KNOWN = {layer.name: layer for layer in (FIRST, *RESNET18)}


def parse_layer(text: str) -> ConvLayer:
    """Parse `NAME=H,W,IC,OC,K,STRIDE,PAD`, or the name of a convolution of ResNet-18.

    Raises
    ------
    ConvolutionError
        The text has another form, the name is unknown, or the convolution is impossible.
    """
    name, equals, numbers = text.partition("=")
    if not equals:
        if name not in _KNOWN:
            raise ConvolutionError(
                f"layer {name!r}: not one of ResNet-18's, {', '.join(_KNOWN)}; another is "
                f"written NAME={','.join(NUMBERS)}"
            )
        return _KNOWN[name]
    parts = numbers.split(",")
    # \d would match digits of other scripts as well.
    if not name.strip() or len(parts) != len(NUMBERS) or not all(map(_is_number, parts)):
        raise ConvolutionError(
            f"layer {text!r}: written NAME={','.join(NUMBERS)}, seven whole numbers, such as "
            f"C2=56,56,64,64,3,1,1"
        )
    return ConvLayer(name.strip(), *map(int, parts))


def _is_number(text: str) -> bool:
    return re.fullmatch(r" *[0-9]{1,9} *", text) is not None


def distinct(layers: Sequence[ConvLayer]) -> tuple[ConvLayer, ...]:
    """The layers as a tuple; raises `ConvolutionError` if two have the same name."""
    names = [layer.name for layer in layers]
    for layer in layers:
        if names.count(layer.name) > 1:
            raise ConvolutionError(
                f"layer {layer.name}: there are {names.count(layer.name)} of the name"
            )
    return tuple(layers)

"""The extents of a convolution: what estimates of it are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from compiler.operators.accelerator.conv2d import PackedConv2d
from compiler.operators.accelerator.passes_schedule import OperandCounts, all_steps

__all__ = ["ConvShape", "Count"]

Count = TypeVar("Count", int, npt.NDArray[np.int64])
"""A number, or one for each of many tiles."""


@dataclass(frozen=True, slots=True)
class ConvShape:
    """Extents of a packed convolution, channels in blocks.

    Attributes
    ----------
    oc, ic
        Output blocks, and input blocks of which each is made.
    stride, kernel, reach
        Along y and x; `reach` is the extent of a window with its dilation.
    image
        Height and width without padding.
    tensor_passes, number_passes
        Passes of the epilogue with an operand in ACC, and with an immediate.
    element_operands, channel_operands
        Tensors that passes read: one number an element, one number a channel.
    groups
        Of output blocks, each with input blocks of its own.
    """

    batches: int
    oc: int
    y: int
    x: int
    ic: int
    image: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    reach: tuple[int, int]
    tensor_passes: int
    number_passes: int
    element_operands: int
    channel_operands: int
    groups: int = 1

    @staticmethod
    def of(conv: PackedConv2d) -> ConvShape:
        """Of a convolution."""
        n, oc, y, x, _, _ = conv.sums.shape
        _, ic, tall, wide, _, _ = conv.weight.shape
        steps = [each for _, each in all_steps(conv.passes)]
        counts = OperandCounts.of(conv.passes)
        numbers = sum(isinstance(each.operand, int) for each in steps)
        dy, dx = conv.dilation
        return ConvShape(
            batches=n,
            oc=oc,
            y=y,
            x=x,
            ic=ic,
            image=(conv.data.shape[2], conv.data.shape[3]),
            kernel=(tall, wide),
            stride=conv.strides,
            reach=(dy * (tall - 1) + 1, dx * (wide - 1) + 1),
            tensor_passes=len(steps) - numbers,
            number_passes=numbers,
            element_operands=counts.elements,
            channel_operands=counts.channels,
            groups=conv.groups,
        )

    @property
    def taps(self) -> int:
        """Weights of one channel."""
        return self.kernel[0] * self.kernel[1]

    @property
    def each(self) -> int:
        """Output blocks of a group."""
        return self.oc // self.groups

    def spanned(self, oc: Count) -> Count:
        """Groups that a tile of so many output blocks reads, if these divide a group or it them."""
        return -(-oc // self.each)

    def rows(self, y: Count) -> Count:
        """Rows of the padded image under `y` rows of the output."""
        return (y - 1) * self.stride[0] + self.reach[0]

    def columns(self, x: Count) -> Count:
        """The same for columns."""
        return (x - 1) * self.stride[1] + self.reach[1]

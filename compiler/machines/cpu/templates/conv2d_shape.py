"""Shapes of direct convolutions on the CPU: padded images in whole tiles, and the sums of windows.

padded[n, ci, y, x]         the image with its border; terms of dot products are last
sum[n, cb, y, x, l]         of padded[n, .., y * step + ky * dilation, x * step + kx * dilation]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.cpu.templates.dot_terms import DotTerms
from tandem.compiler.machines.cpu.templates.layer import EXCESS, shift
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import ReduceAxis, Reduction

_ZERO = index(0)
WINDOW = ("ky", "kx")
"""The names of the axes of a window."""


@dataclass(frozen=True, slots=True)
class ConvAxis:
    """An axis of a convolution.

    Attributes
    ----------
    extent
        Elements of the image.
    before
        Elements of padding before the image.
    count
        Number of windows, rounded up to whole tiles.
    copied
        Whether the padded image is a copy in any case.
    """

    extent: int
    kernel: int
    stride: int
    dilation: int
    before: int
    count: int
    copied: bool

    @property
    def step(self) -> int:
        """Stride of windows in the padded image."""
        return 1 if self.copied and self.kernel == 1 else self.stride

    @property
    def pitch(self) -> int:
        """Distance in the image of adjacent elements of the padded image: a copy for windows of one
        element leaves out the elements between windows."""
        return self.stride if self.copied and self.kernel == 1 else 1

    @property
    def size(self) -> int:
        """Elements of the padded image."""
        return (self.count - 1) * self.step + (self.kernel - 1) * self.dilation + 1

    @property
    def direct(self) -> bool:
        """Whether the image needs no padding along this axis."""
        return self.pitch == 1 and self.before == 0 and self.size <= self.extent

    def conditions(self, i: Expr) -> list[Expr]:
        """The conditions under which element `i` of the padded image is one of the image."""
        found = [index(self.before) <= i * self.pitch] if self.before else []
        if (self.size - 1) * self.pitch - self.before >= self.extent:
            found.append(i * self.pitch < self.extent + self.before)
        return found

    def position(self, i: Expr) -> Expr:
        """The position in the image of element `i` of the padded image."""
        return i * self.pitch - self.before


@dataclass(frozen=True, slots=True)
class ConvShape:
    """Extents of a convolution: `inputs` channels of a group in `steps` steps of a dot product's
    `terms`, `outputs` in blocks of `channels`."""

    groups: int
    inputs: int
    steps: int
    outputs: int
    channels: int
    terms: DotTerms
    axes: tuple[ConvAxis, ConvAxis]

    @property
    def blocks(self) -> int:
        return -(-self.outputs // self.channels)

    @property
    def padded_inputs(self) -> bool:
        """Whether steps have terms beyond the inputs."""
        return self.steps * self.terms.count > self.inputs

    def sums(self, batch: int) -> tuple[int, int, int, int, int]:
        """The extents of the sums of images: `[n, cb, y, x, l]`."""
        rows, columns = (axis.count for axis in self.axes)
        return batch, self.blocks, rows, columns, self.channels

    def element(self, at: Sequence[Expr], ci: Expr, ky: Expr, kx: Expr) -> tuple[Expr, ...]:
        """The indices in the padded image of an element of a window, but for terms.

        Parameters
        ----------
        at
            The image, the block, and the row and the column of the sum.
        ci
            The step in the block's group.
        """
        n, cb, y, x = at
        channel = ci
        if self.groups > 1:
            blocks_per_group = self.outputs // self.groups // self.channels
            channel = cb // blocks_per_group * self.steps + ci
        y_axis, x_axis = self.axes
        row = y * y_axis.step + ky * y_axis.dilation
        return n, channel, row, x * x_axis.step + kx * x_axis.dilation

    def window(self) -> tuple[ReduceAxis, ReduceAxis]:
        """Reduction axes over the rows and columns of a window."""
        (y_axis, x_axis), (ky, kx) = self.axes, WINDOW
        return reduce_axis(y_axis.kernel, ky), reduce_axis(x_axis.kernel, kx)


def conv_axes(
    data: Tensor,
    kernel: Sequence[int],
    windows: Sequence[int],
    tile: Tile,
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    *,
    copied: bool,
) -> tuple[ConvAxis, ConvAxis]:
    """The axes of a convolution with so many windows along each, in whole tiles; other parameters
    as of `conv2d`."""
    y_axis, x_axis = (
        ConvAxis(
            data.shape[2 + number],
            kernel[number],
            strides[number],
            dilation[number],
            padding[number],
            -(-windows[number] // step) * step,
            copied,
        )
        for number, step in enumerate((tile.rows, tile.columns))
    )
    return y_axis, x_axis


def padded_image(
    data: Tensor, shape: ConvShape, name: str, shifted: bool, *, zeros: bool = False
) -> Tensor:
    """The image with its border: `[n, ci, y, x]`, or `[n, ci, y, x, k]` for dot products.

    Parameters
    ----------
    shifted
        Whether numbers are shifted (`shift`); so is the border.
    zeros
        Whether terms beyond the inputs are 0, not as the border: where weights there are not 0.
    """
    (y_axis, x_axis), inner = shape.axes, shape.terms.data_extents

    def element(n: Expr, ci: Expr, y: Expr, x: Expr, k: Expr = _ZERO) -> Expr:
        channel, inputs = ci, []
        if inner:
            own = ci % shape.steps * shape.terms.count + k
            channel = ci // shape.steps * shape.inputs + own
            if shape.padded_inputs:
                inputs.append(own < shape.inputs)
        conditions = y_axis.conditions(y) + x_axis.conditions(x)
        value, border = data[n, channel, y_axis.position(y), x_axis.position(x)], 0
        if shifted:
            value, border = shift(value), EXCESS
        if inputs and zeros and shifted:
            framed = te.select(te.all_of(*conditions), value, border) if conditions else value
            return te.select(te.all_of(*inputs), framed, 0)
        conditions = inputs + conditions
        return te.select(te.all_of(*conditions), value, border) if conditions else value

    channels = shape.groups * shape.steps
    extents = (data.shape[0], channels, y_axis.size, x_axis.size, *inner)
    return compute(extents, element, name, ["n", "ci", "y", "x", "k"][: len(extents)])


def excess_of_channels(weight: Tensor, shape: ConvShape, name: str) -> Tensor:
    """What shifted data adds to the sums: `[cb, l]`."""
    _, *inner = weight.shape
    axes = [reduce_axis(extent, axis) for extent, axis in zip(inner, ("ci", *WINDOW), strict=True)]

    def element(cb: Expr, at: Expr) -> Reduction:
        channel = cb * shape.channels + at
        value = te.cast(weight[(channel, *axes)], INT32) * EXCESS
        if shape.outputs % shape.channels:
            value = te.select(channel < shape.outputs, value, 0)
        return te.sum(value, axes)

    return compute((shape.blocks, shape.channels), element, name, ["cb", "l"])

"""The workload of a convolution: shapes, windows, and the order of tensors in DRAM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np

from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue, EpiloguePass
from tandem.compiler.machines.accelerator.templates.work_counts import (
    Output,
    TransferCounts,
    kernel_length,
    tile_shapes,
    transfers_of,
)
from tandem.compiler.operators.window import Window, windows
from tandem.compiler.plan.record_fields import UNLESS_NONE
from tandem.compiler.plan.space import Choices, Floats, Ints
from tandem.compiler.te import placeholder
from tandem.hw.codings import Coding
from tandem.hw.topology import MemoryId

Count = TypeVar("Count", int, Ints)
T = TypeVar("T")
ImageBox: TypeAlias = tuple[Ints | int, Ints | int, Ints | int]


@dataclass(frozen=True, slots=True)
class Conv2dWorkload:
    """A convolution of packed int8 tensors to packed int8.

    Attributes
    ----------
    data, weight
        Shapes: [N, groups * IC, H, W, B, K] and [OC, IC, KH, KW, L, K].
    padding
        Zeros at top, left, bottom and right.
    groups
        Number of groups, of whole blocks: an output block reads its group's IC blocks.
    coding
        How the weights lie in DRAM; None for int8.
    """

    data: tuple[int, ...]
    weight: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    passes: tuple[EpiloguePass, ...]
    coding: Coding | None = field(default=None, metadata=UNLESS_NONE)

    channels_together: ClassVar[bool] = False
    """Whether the blocks of channels of a pixel lie together in DRAM, not the pixels of a block."""

    @property
    def epilogue(self) -> Epilogue:
        """The passes over the sums as an epilogue."""
        return Epilogue(self.passes)

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows along y and x."""
        return _windows(self)

    @property
    def extents(self) -> dict[str, int]:
        """Extents of output blocks, rows and columns, and of summed input blocks."""
        y, x = (each.count for each in self.windows)
        return {"oc": self.weight[0], "y": y, "x": x, "ic": self.weight[1]}

    @property
    def padded(self) -> tuple[int, int]:
        """Rows and columns of the image with its padding."""
        top, left, bottom, right = self.padding
        return top + self.data[2] + bottom, left + self.data[3] + right

    @property
    def taps(self) -> int:
        """Number of taps of the kernel."""
        return prod(self.weight[2:4])

    @property
    def blocks_per_group(self) -> int:
        """Number of output blocks of a group."""
        return self.weight[0] // self.groups

    def spanned_groups(self, oc: Ints) -> Ints:
        """The most groups that a tile of `oc` output blocks reads."""
        if self.groups == 1:
            return np.ones_like(oc)
        own = self.blocks_per_group
        first = np.where(oc < self.weight[0], own - np.gcd(own, oc), 0)
        return (first + oc - 1) // own + 1

    def input_extent(self, axis: int, count: Count) -> Count:
        """Rows (axis 0) or columns (axis 1) of the padded image that `count` output rows read."""
        reach = self.dilation[axis] * (self.weight[2 + axis] - 1) + 1
        return (count - 1) * self.strides[axis] + reach

    def loaded_extents(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """Rows and columns of the padded image to load for `y` rows and `x` columns of the output;
        1x1 kernels skip the rows between strides."""
        rows, columns = self.input_extent(0, y), self.input_extent(1, x)
        return (y if self.taps == 1 else rows), columns

    def kernel_length(self, choices: Choices) -> Ints:
        """Micro-ops of a GEMM instruction (not of a reset)."""
        axes = [choices[axis] for axis in ("oc", "y", "x", "ic")]
        return kernel_length(*axes, *self.weight[2:4])

    # Transfers ------------------------------------------------------------------------------------

    def in_dram(self, images: T, channels: T, y: T, x: T) -> tuple[T, T, T, T]:
        """Extents of a box of the image or the result, in the order of their tensors in DRAM."""
        return (images, y, x, channels) if self.channels_together else (images, channels, y, x)

    def output(self, oc: Ints, y: Ints, x: Ints) -> Output:
        """The result, in tiles of `oc` blocks of channels and `y` by `x` pixels of one image."""
        whole = self.in_dram(self.data[0], *(self.extents[axis] for axis in ("oc", "y", "x")))
        tile = self.in_dram(np.ones_like(oc), oc, y, x)
        return Output(whole, tile, channels=3 if self.channels_together else 1)

    def image_loads(self, boxes: Iterable[tuple[Ints | Floats, ImageBox]]) -> TransferCounts:
        """The LOADs of boxes of an image: blocks of channels, rows and columns, and how often."""
        whole = self.in_dram(1, *self.data[1:4])
        return transfers_of(
            MemoryId.INP, ((count, self.in_dram(1, *box)) for count, box in boxes), whole
        )

    def weight_loads(self, oc: Ints, ic: Ints, taps: Ints | int) -> TransferCounts:
        """The LOADs that bring all weights once, in tiles of `oc` outputs, `ic` inputs, `taps`."""
        kernels = (*self.weight[:2], self.taps)
        boxes = tile_shapes(kernels, (oc, ic, np.full_like(oc, taps)))
        return transfers_of(MemoryId.WGT, boxes, kernels)

    def weight_blocks(self, oc: Ints) -> Ints:
        """The blocks of outputs whose weights are on chip for `oc` blocks of outputs."""
        return oc


@lru_cache(maxsize=256)
def _windows(workload: Conv2dWorkload) -> tuple[Window, ...]:
    """The windows of a workload, kept: all counts begin with extents, which follow from them."""
    image = placeholder(workload.data[:4], INT8, "data")
    how = workload.strides, workload.padding, workload.dilation
    return windows("conv2d", "out", image, workload.weight[2:4], *how)


class RowsWorkload(Conv2dWorkload):
    """A convolution of 1x1 over one image whose pixels are the rows of a matrix."""

    __slots__ = ()
    channels_together = True

    @staticmethod
    def of(
        rows: int,
        inputs: int,
        outputs: int,
        block: tuple[int, int, int],
        passes: tuple[EpiloguePass, ...],
        coding: Coding | None = None,
    ) -> RowsWorkload:
        """The product of int8[rows, IC, B, K] and the transposed int8[OC, IC, L, K].

        Parameters
        ----------
        block
            B, L and K.
        """
        batch, lanes, depth = block
        return RowsWorkload(
            (1, inputs, 1, rows, batch, depth),
            (outputs, inputs, 1, 1, lanes, depth),
            strides=(1, 1),
            padding=(0, 0, 0, 0),
            dilation=(1, 1),
            groups=1,
            passes=passes,
            coding=coding,
        )

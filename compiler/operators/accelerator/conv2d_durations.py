"""How long the parts of a convolution take, tile by tile."""

from __future__ import annotations

from functools import cache
from math import prod

from compiler.operators.accelerator.conv2d_shape import ConvShape
from compiler.operators.accelerator.machine_cost import MachineCost
from compiler.operators.accelerator.tiling import Order, Tiling
from hw.memories import MemoryId

__all__ = ["Durations", "Tile"]

Tile = tuple[int, int, int]
"""Blocks of output channels, rows, columns."""


class Durations:
    """How long the parts of a tile take, in cycles. Tiles are of few sizes: each is computed once.

    Attributes
    ----------
    kept
        By tile: loading what stays on chip.
    step
        By tile and blocks of input channels: the loads of a step of the sum, and its products.
    results
        By tile: the passes of the epilogue, and the store.
    """

    def __init__(self, shape: ConvShape, tiling: Tiling, cost: MachineCost) -> None:
        self.shape, self.tiling, self.cost = shape, tiling, cost
        self.kept, self.step, self.results = cache(self._kept), cache(self._step), cache(self._done)

    def _kept(self, tile: Tile) -> int:
        order, ic = self.tiling.order, self.shape.ic
        loads = self._weights(tile, ic) if order is Order.WEIGHTS else 0
        whole = ic * self.shape.groups
        return loads + (self._image(tile, whole) if order is Order.IMAGE else 0)

    def _step(self, tile: Tile, ic: int) -> tuple[int, int]:
        order = self.tiling.order
        blocks = ic * self.shape.spanned(tile[0])
        loads = self._image(tile, blocks) if order is not Order.IMAGE else 0
        loads += self._weights(tile, ic) if order is not Order.WEIGHTS else 0
        return loads, prod(tile) * ic * self.shape.taps

    def _done(self, tile: Tile) -> tuple[int, int]:
        shape, cost, size = self.shape, self.cost, prod(tile)
        passes = shape.tensor_passes * cost.alu(size, tensor_operand=True)
        passes += shape.number_passes * size
        passes += shape.element_operands * cost.load(MemoryId.ACC_8BIT, size)
        oc, y, x = tile
        # The data of the next STORE does not wait for acknowledgements.
        gap = cost.overhead - cost.memory.latency
        return passes, oc * (gap + cost.beats(MemoryId.OUT, y * x))

    def _weights(self, tile: Tile, ic: int) -> int:
        return self.cost.load(MemoryId.WGT, tile[0] * ic * self.shape.taps)

    def _image(self, tile: Tile, blocks: int) -> int:
        """The part of the image for a tile: one LOAD a block of channels, padding included."""
        shape = self.shape
        _, y, x = tile
        rows, columns = shape.rows(y), shape.columns(x)
        if shape.reach == (1, 1):
            # Rows between those that are needed are left out.
            rows = y
        elements = min(rows, shape.image[0]) * min(columns, shape.image[1])
        padding = max(0, rows * columns - elements)
        return blocks * self.cost.load(MemoryId.INP, elements, padding)

"""How a product is divided among blocks and threads."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.products import Product

_SIDES = ((128, 8), (64, 4), (32, 2), (16, 1))
"""Sides of a block's tile, and of that of each of its 256 threads."""


@dataclass(frozen=True, slots=True)
class Tile:
    """How a product is divided.

    Attributes
    ----------
    rows, columns
        Of a block.
    depth
        Terms that are loaded at once.
    thread_rows, thread_columns
        Of a thread.
    slots
        Of what is loaded: with two, the next tile needs no barrier before it.
    warps
        Whether the threads of a warp multiply together, where the product has an intrinsic for
        that.
    """

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    slots: int = 2
    warps: bool = False

    @property
    def sides(self) -> tuple[int, int, int]:
        """Rows, columns and terms that are in shared memory."""
        return self.rows, self.columns, self.depth

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)


def tile_of(product: Product, machine: GpuMachine) -> Tile:
    """The tile for a product: the largest that leaves work for enough blocks, and no larger than
    the product."""

    def blocks_of(side: int) -> int:
        return product.batch * (product.rows // side) * (product.columns // side)

    enough = (
        (side, own) for side, own in _SIDES if blocks_of(side) >= (_BLOCKS if side > SMALL else 1)
    )
    side, own = next(enough, _SIDES[-1])
    while (side // own) ** 2 > machine.threads:
        own *= 2
    if machine.warp_products and product.together is not None and side >= SMALL:
        return Tile(side, side, _DEPTH_BYTES // product.stored_bytes, own, own, warps=True)
    return Tile(side, side, _DEPTH, own, own)


_BLOCKS = 64
"""Blocks that keep a GPU busy."""
SMALL = 32
"""The side of tiles that small products have, however few their blocks."""
_DEPTH = 16
_DEPTH_BYTES = 64
"""Of terms that warps multiply, in a row of what is loaded."""

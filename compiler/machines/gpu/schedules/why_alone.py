"""How the threads of a GPU multiply a product, and why not those of a warp together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.products import Product
from tandem.compiler.machines.gpu.schedules.tile import SMALL, Tile, tile_of
from tandem.compiler.machines.gpu.schedules.warp_tiles import warp_product


class WhyAlone(Enum):
    """Why each thread of a warp multiplies by itself."""

    MACHINE = "the machine has no products of warps"
    FACTORS = "no product of a warp has such factors"
    SMALL = f"the product has fewer than {SMALL} rows or columns"
    TILE = "the tile is no whole products of whole warps"
    CHOSEN = "the tile that was tuned is by threads"


@dataclass(frozen=True, slots=True)
class Multiplication:
    """A product, and how it is computed.

    Attributes
    ----------
    why
        Why each thread multiplies by itself; None where a warp does together.
    """

    product: Product
    tile: Tile
    why: WhyAlone | None

    def __str__(self) -> str:
        of, tile = self.product, self.tile
        size = " x ".join(map(str, (of.rows, of.columns, of.terms)))
        batch = f"{of.batch} of " if of.batch > 1 else ""
        left, right = of.factors
        text = (
            f"{batch}{size}, {left} by {right} in {of.kind}, tiles of {tile.rows} x {tile.columns}"
        )
        if self.why is not None:
            return f"{text}, by threads: {self.why.value}"
        assert of.together is not None, "a warp multiplies"
        return f"{text}, by warps: {of.together.name}"


def multiplication(product: Product, tile: Tile, machine: GpuMachine) -> Multiplication:
    """How a product is computed with a tile on a machine."""
    return Multiplication(product, tile, _why_alone(product, tile, machine))


def _why_alone(product: Product, tile: Tile, machine: GpuMachine) -> WhyAlone | None:
    if warp_product(product, tile) is not None:
        return None
    if not machine.warp_products:
        return WhyAlone.MACHINE
    if product.together is None:
        return WhyAlone.FACTORS
    if tile.warps:
        return WhyAlone.TILE
    return WhyAlone.CHOSEN if tile_of(product, machine).warps else WhyAlone.SMALL

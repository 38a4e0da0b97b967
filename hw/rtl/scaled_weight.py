"""A weight times the scale of its group."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block
from tandem.hw.weight_formats import SCALE_BITS

WEIGHT_BITS = 8


class ScaledWeight(Block):
    """The low eight bits of a product, within a cycle: two sums of two rows each, and their sum.

    So short a product takes fewer look-up tables than a multiplier takes of a chip's few.

    Members
    -------
    weight, scale
        The factors; of the low bits it does not matter whether the weight is signed.
    product
        Their product, modulo 256.
    """

    def __init__(self) -> None:
        super().__init__(
            {"weight": In(WEIGHT_BITS), "scale": In(SCALE_BITS), "product": Out(WEIGHT_BITS)}
        )

    def build(self, m: Module) -> None:
        low = self._row(0) + self._row(1)
        high = self._row(2) + self._row(3)
        m.d.comb += self.product.eq(low[:WEIGHT_BITS] + high[:WEIGHT_BITS])

    def _row(self, bit: int) -> Value:
        """The weight in its place, if a bit of the scale is set."""
        kept = WEIGHT_BITS - bit
        return Cat(Const(0, bit), self.weight[:kept] & self.scale[bit].replicate(kept))

"""A weight times the scale of its group."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block
from tandem.hw.weight_formats import SCALE_BITS

WEIGHT_BITS = 8


class ScaledWeight(Block):
    """The low eight bits of a product, within a cycle.

    Two bits of the scale choose between 0, 1, 2 and 3 times the weight, the upper two between the
    same four, four times as much. So there is one sum, for the table has three times the weight.

    Members
    -------
    weight, thrice
        The weight, and three times that modulo 256; of low bits it does not matter whether they
        are signed.
    scale
        The other factor.
    product
        The product, modulo 256.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "weight": In(WEIGHT_BITS),
                "thrice": In(WEIGHT_BITS),
                "scale": In(SCALE_BITS),
                "product": Out(WEIGHT_BITS),
            }
        )

    def build(self, m: Module) -> None:
        low, high = self._times(self.scale[:2], WEIGHT_BITS), self._times(self.scale[2:], 6)
        m.d.comb += self.product.eq(Cat(low[:2], low[2:] + high))

    def _times(self, digit: Value, bits: int) -> Value:
        """The low bits of the weight times a digit, 0 to 3."""
        twice = Cat(Const(0, 1), self.weight[: bits - 1])
        odd = Mux(digit[1], self.thrice[:bits], self.weight[:bits])
        return Mux(digit[0], odd, Mux(digit[1], twice, 0))

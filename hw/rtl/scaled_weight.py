"""A weight times the scale of its group."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block

WEIGHT_BITS = 8

SCALE_DIGITS = data.StructLayout({"units": 2, "fours": 2, "eight": 1})
"""A scale as a sum of three digits: 0, 1, 2 or, written as 3, -1; 0, 4 or 8, written as 0, 1 and 2;
and 0 or 8. So all that a weight is multiplied by is a power of two or -1."""


def digits_of(scale: Value) -> Value:
    """The digits, as in `SCALE_DIGITS`, of a scale of four bits."""
    # Three units are four less one.
    fours = scale[2:] + scale[:2].all()
    eight = fours >= 3
    return Cat(scale[:2], (fours - Mux(eight, 2, 0))[:2], eight)


class ScaledWeight(Block):
    """The low eight bits of a product, within a cycle, or a weight that needs none.

    The product is the sum of the weight's multiples by the three digits. Of the smallest digit and
    of the next, a bit of the multiple depends on two bits of the weight and two of the digit: one
    look-up table of four inputs.

    Members
    -------
    weight
        One factor; of low bits it does not matter whether they are signed.
    digits
        Those of the other factor.
    plain
        The result where `weight` is 0; 0 elsewhere. It takes the place of a multiple by the digit
        that is 0 or 8: gates there have an input to spare.
    product
        The product, modulo 256.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "weight": In(WEIGHT_BITS),
                "digits": In(SCALE_DIGITS),
                "plain": In(WEIGHT_BITS),
                "product": Out(WEIGHT_BITS),
            }
        )

    def build(self, m: Module) -> None:
        weight, digits = self.weight, self.digits
        negative = Signal()
        m.d.comb += negative.eq(digits.units.all())
        twice = Cat(Const(0, 1), weight)
        units = Mux(
            digits.units[0],
            weight ^ negative.replicate(WEIGHT_BITS),
            Mux(digits.units[1], twice[:WEIGHT_BITS], 0),
        )
        # Multiples of four: their low two bits are 0, and free for those of `plain`.
        fours = Mux(digits.fours[0], weight[:6], Mux(digits.fours[1], twice[:6], 0))
        eights = Cat(Const(0, 1), weight[:5] & digits.eight.replicate(5))
        high = (fours + (eights | self.plain[2:]))[:6]
        m.d.comb += self.product.eq(Cat(self.plain[:2], high) + units + negative)

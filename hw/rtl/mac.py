"""A row of multipliers and the adder tree that sums their products."""

from __future__ import annotations

from math import ceil

from amaranth.hdl import Cat, Module, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import clog2
from tandem.hw.timing import MAC_RADIX, tree_levels

VALUE_BITS = 8


class Mac(Block):
    """The dot product of two vectors of `block_in` signed bytes, `tree_levels` cycles later.

    Members
    -------
    inp, wgt
        The vectors, element 0 in the lowest bits.
    enable
        Register enables, a bit for each stage: the products, and every level of the tree but the
        last, which is combinational.
    dot
        The dot product.
    """

    def __init__(self, block_in: int) -> None:
        self._block_in = block_in
        super().__init__(
            {
                "inp": In(VALUE_BITS * block_in),
                "wgt": In(VALUE_BITS * block_in),
                "enable": In(tree_levels(block_in)),
                "dot": Out(signed(2 * VALUE_BITS + clog2(block_in))),
            }
        )

    def build(self, m: Module) -> None:
        # Every term is as wide as the final sum and is added as unsigned, which is exact modulo
        # 2**width. A product's upper bits are copies of its sign: synthesis merges their
        # registers, and no stage of the tree needs sign extension.
        width = len(self.dot)
        terms: list[Value] = []
        for index in range(self._block_in):
            product = Signal(width, name=f"product_{index:03}", reset_less=True)
            inp = self.inp.word_select(index, VALUE_BITS)
            wgt = self.wgt.word_select(index, VALUE_BITS)
            with m.If(self.enable[0]):
                m.d.sync += product.eq(
                    _widened(inp, width // 2) * _widened(wgt, width - width // 2)
                )
            terms.append(product)
        for level in range(tree_levels(self._block_in) - 1):
            sums: list[Value] = []
            count = ceil(len(terms) / MAC_RADIX)
            for index in range(count):
                total = Signal(width, name=f"sum_{level}_{index:03}", reset_less=True)
                with m.If(self.enable[1 + level]):
                    m.d.sync += total.eq(_pairwise(terms[index::count]))
                sums.append(total)
            terms = sums
        m.d.comb += self.dot.eq(_pairwise(terms)[:width].as_signed())


def _widened(value: Value, width: int) -> Value:
    """A signed byte, sign-extended to `width` bits: the factors' widths add up to the sum's."""
    return Cat(value, value[-1].replicate(width - len(value))).as_signed()


def _pairwise(terms: list[Value]) -> Value:
    """The sum of `terms`, as a balanced tree."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _pairwise(terms[:middle]) + _pairwise(terms[middle:])

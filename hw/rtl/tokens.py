"""Dependence tokens: the counter of one queue between two units."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block
from tandem.hw.topology import TOKEN_BITS


class TokenCounter(Block):
    """Counter of the tokens in one queue. A push is visible one cycle later.

    Members
    -------
    push, pop
        Add and remove a token. `pop` only while `available`.
    available
        The counter is not zero.
    overflow
        A push at the counter's maximum; the counter keeps its value.
    """

    push: In(1)
    pop: In(1)
    available: Out(1)
    overflow: Out(1)

    def build(self, m: Module) -> None:
        count = Signal(TOKEN_BITS)
        full = Signal()
        m.d.comb += self.overflow.eq(self.push & ~self.pop & full)
        with m.If(self.push & ~self.pop & ~full):
            m.d.sync += [count.eq(count + 1), full.eq(count[1:].all())]
            m.d.sync += self.available.eq(1)
        with m.If(self.pop & ~self.push):
            m.d.sync += [count.eq(count - 1), full.eq(0)]
            m.d.sync += self.available.eq(count != 1)

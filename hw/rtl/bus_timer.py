"""Tells when nothing has moved on the bus for too long."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from tandem.hw.registers import BUS_TIMEOUT_BITS
from tandem.hw.rtl.block import Block


class BusTimer(Block):
    """Counts cycles in which the bus owes something and nothing moves on it.

    Members
    -------
    limit
        As many such cycles in a row are too many; 0 for any number. It can be set while the bus is
        silent; a smaller one than before then counts from the next silence on.
    silent
        This is such a cycle.
    expired
        The `limit` cycles before the last one were silent, and perhaps more before them.
    """

    def __init__(self) -> None:
        super().__init__({"limit": In(BUS_TIMEOUT_BITS), "silent": In(1), "expired": Out(1)})

    def build(self, m: Module) -> None:
        # Whether something moves is known at the end of long paths.
        silent = Signal()
        count = Signal(BUS_TIMEOUT_BITS)
        ends = Signal()
        counted = Signal()
        m.d.comb += [ends.eq(count == self.limit), self.expired.eq(counted & ends)]
        m.d.sync += [
            silent.eq(self.silent),
            # With a limit of 0 nothing is ever counted.
            counted.eq(silent & (counted | ~ends)),
        ]
        with m.If(~silent):
            m.d.sync += count.eq(0)
        with m.Else():
            m.d.sync += count.eq(count + ~ends)

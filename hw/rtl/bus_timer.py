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
        # Whether something moves is known at the end of long paths, and much depends on `expired`.
        silent = Signal()
        # The next silent cycle is this one in a row; it stays 1 where there is no limit.
        count = Signal(BUS_TIMEOUT_BITS, init=1)
        limited = Signal()
        m.d.comb += limited.eq(self.limit != 0)
        m.d.sync += [
            silent.eq(self.silent),
            self.expired.eq(silent & limited & (self.expired | (count == self.limit))),
        ]
        with m.If(silent & limited):
            m.d.sync += count.eq(count + 1)
        with m.Else():
            m.d.sync += count.eq(1)

"""The address of the oldest burst that is outstanding, for the fault of a bus that hangs."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import clog2
from tandem.hw.rtl.scratchpad import OnChipMemory


class OldestAddress(Block):
    """Remembers the addresses of up to `depth` bursts (a power of two) that are answered in order.

    Members
    -------
    push, address
        A burst was issued in the cycle before.
    pop
        The oldest burst is answered.
    clear
        Nothing will be answered any more: until the next `push`, `oldest` is the last one issued.
    oldest
        The address of the burst that was the oldest a cycle ago, if it was issued before.
    """

    def __init__(self, *, bits: int, depth: int) -> None:
        self._bits = bits
        self._depth = depth
        super().__init__(
            {
                "push": In(1),
                "address": In(bits),
                "pop": In(1),
                "clear": In(1),
                "oldest": Out(bits),
            }
        )

    def variant(self) -> str:
        """Module suffix: bits and depth."""
        return f"{self._bits}x{self._depth}"

    def build(self, m: Module) -> None:
        m.submodules.storage = storage = OnChipMemory(
            bits=self._bits, depth=self._depth, grain=self._bits
        )
        head = Signal(clog2(self._depth))
        tail = Signal.like(head)
        cleared = Signal()
        m.d.comb += [
            storage.write_enable.eq(self.push),
            storage.write_address.eq(tail),
            storage.write_data.eq(self.address),
            storage.read_enable.eq(1),
            storage.read_address.eq(head - cleared),
            self.oldest.eq(storage.read_data),
        ]
        m.d.sync += [tail.eq(tail + self.push), head.eq(head + self.pop)]
        with m.If(self.clear):
            m.d.sync += [head.eq(tail + self.push), cleared.eq(1)]
        with m.Elif(self.push):
            m.d.sync += cleared.eq(0)

"""The address of the oldest burst that is outstanding, for the fault of a bus that hangs."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import clog2
from tandem.hw.rtl.scratchpad import OnChipMemory


class OldestAddress(Block):
    """Remembers the addresses of the bursts in a Queue of `depth`.

    Members
    -------
    push
        A payload came into the queue in the cycle before.
    address
        Its address; of one that has no address, and while none comes, the last address.
    clear
        The queue is reset in this cycle.
    waits, first, last
        The queue's `o.valid`, `first` and `last`.
    hold
        Keep `oldest` as it is.
    oldest
        The address of the payload that was shown a cycle ago, if it came before; while the queue
        is empty, from two cycles after `clear` on, the last one.
    """

    def __init__(self, *, bits: int, depth: int) -> None:
        self._bits = bits
        self._depth = depth
        number = clog2(depth)
        super().__init__(
            {
                "push": In(1),
                "address": In(bits),
                "clear": In(1),
                "waits": In(1),
                "first": In(number),
                "last": In(number),
                "hold": In(1),
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
        cleared = Signal()
        m.d.sync += cleared.eq(self.clear)
        m.d.comb += [
            # An address lies at its payload's number; the last one, for a queue without any, too.
            storage.write_enable.eq(self.push | cleared),
            storage.write_address.eq(self.last),
            storage.write_data.eq(self.address),
            storage.read_enable.eq(~self.hold),
            storage.read_address.eq(Mux(self.waits, self.first, self.last)),
            self.oldest.eq(storage.read_data),
        ]

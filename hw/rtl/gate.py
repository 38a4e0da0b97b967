"""Holds an instruction at the head of a unit's queue until its tokens are available."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import memory_layout
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import queued_layout, view_of
from tandem.hw.storage import INDEX_BITS


class Gate(Block):
    """Takes the head of a queue when the unit is ready and has the tokens that the head needs.

    Members
    -------
    queue
        The unit's instruction queue.
    prev, next
        The unit's tokens; only `pop` is driven here.
    ready
        The unit could start the head in this cycle.
    start
        The unit starts the head; the head's tokens are popped in this cycle.
    word, index
        Instruction word of the head, and its index in the program.
    valid, waits
        The queue has a head; the head lacks a token from the previous (bit 0), next (bit 1) unit.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        pops = wiring.Signature({"available": In(1), "pop": Out(1)})
        super().__init__(
            {
                "queue": In(stream.Signature(queued_layout())),
                "prev": Out(pops),
                "next": Out(pops),
                "ready": In(1),
                "start": Out(1),
                "word": Out(queued_layout()["word"].shape),
                "index": Out(INDEX_BITS),
                "valid": Out(1),
                "waits": Out(2),
            }
        )

    def build(self, m: Module) -> None:
        head = data.View(view_of(memory_layout(self._config)), self.queue.payload.word)
        waits = Signal(2)
        m.d.comb += [
            self.word.eq(self.queue.payload.word),
            self.index.eq(self.queue.payload.index),
            self.valid.eq(self.queue.valid),
            waits.eq(
                Cat(head.pop_prev & ~self.prev.available, head.pop_next & ~self.next.available)
            ),
            self.start.eq(self.queue.valid & self.ready & (waits == 0)),
            self.queue.ready.eq(self.start),
            self.prev.pop.eq(self.start & head.pop_prev),
            self.next.pop.eq(self.start & head.pop_next),
        ]
        with m.If(self.queue.valid):
            m.d.comb += self.waits.eq(waits)

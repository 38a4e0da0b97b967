"""Reads OUT into the queue of beats that the write master has."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import strobed_layout
from tandem.hw.rtl.out_packer import OutPacker
from tandem.hw.rtl.queue import Queue
from tandem.hw.timing import OUT_QUEUE_BEATS


class QueuedPacker(Block):
    """An `OutPacker` and its queue; `beat` is the queue's head."""

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self.packer = OutPacker(config)
        super().__init__({"beat": Out(stream.Signature(strobed_layout(config)))})

    def build(self, m: Module) -> None:
        """The blocks, connected."""
        m.submodules.packer = self.packer
        m.submodules.queue = queue = Queue(strobed_layout(self._config), OUT_QUEUE_BEATS)
        wiring.connect(m, queue.o, wiring.flipped(self.beat))
        m.d.comb += [
            queue.i.valid.eq(self.packer.beat.valid),
            queue.i.payload.eq(self.packer.beat.payload),
            self.packer.waiting.eq(queue.level),
        ]

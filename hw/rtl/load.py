"""The load unit: LOADs of INP, WGT and PAR."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import memory_layout
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.gate import Gate
from tandem.hw.rtl.layouts import UnitStatus, loaded_by, queued_layout, view_of
from tandem.hw.rtl.load_dma import LoadDma, WritePort, bases_layout
from tandem.hw.rtl.ports import ReadPort, TokenPort
from tandem.hw.storage import INDEX_BITS, storage_of
from tandem.hw.topology import MemoryId, Unit


def load_memories(config: HardwareConfig) -> tuple[MemoryId, ...]:
    """The memories that the unit fills."""
    return loaded_by(config, Unit.LOAD)


class LoadUnit(Block):
    """Executes one LOAD at a time: a LOAD starts when the previous LOAD has finished writing.

    Members
    -------
    queue, next
        Instructions, and the tokens shared with compute.
    bases, port, write
        As in `LoadDma`.
    status
        See `UnitStatus`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "queue": In(stream.Signature(queued_layout())),
                "next": Out(TokenPort()),
                "bases": In(bases_layout(config)),
                "port": Out(ReadPort(config)),
                "write": Out(WritePort(config, load_memories(config))),
                "status": Out(UnitStatus()),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        m.submodules.gate = gate = Gate(config)
        depth = storage_of(config)["load_buffer"].depth
        m.submodules.dma = dma = LoadDma(config, load_memories(config), depth=depth)
        wiring.connect(m, wiring.flipped(self.queue), gate.queue)
        wiring.connect(m, dma.port, wiring.flipped(self.port))
        wiring.connect(m, dma.write, wiring.flipped(self.write))
        head = data.View(view_of(memory_layout(config)), gate.word)

        # An instruction without data ends in the cycle after its start.
        empty = Signal()
        pushes = Signal()
        index = Signal(INDEX_BITS, reset_less=True)
        ends = Signal()
        m.d.comb += [
            gate.ready.eq(~dma.active & ~empty),
            gate.next.available.eq(self.next.available),
            self.next.pop.eq(gate.next.pop),
            dma.start.eq(gate.start & (head.x_size != 0)),
            dma.word.eq(head),
            dma.bases.eq(self.bases),
            ends.eq(empty | dma.last),
            self.next.push.eq(ends & pushes),
        ]
        m.d.sync += empty.eq(gate.start & (head.x_size == 0))
        with m.If(gate.start):
            m.d.sync += [pushes.eq(head.push_next), index.eq(gate.index)]

        status = self.status
        under_way = dma.active | empty
        m.d.comb += [
            status.busy.eq((under_way & ~dma.starved) | gate.start),
            status.memory.eq(dma.starved),
            status.token.eq(~under_way & (gate.waits != 0)),
            status.quiet.eq(~under_way & ~gate.start),
            status.active.eq(under_way | gate.valid),
            status.index.eq(index),
            status.waits.eq(gate.waits),
            status.end_index.eq(index),
            status.events.start.eq(gate.start),
            status.events.end.eq(ends),
            status.events.pop_next.eq(gate.next.pop),
            status.events.push_next.eq(self.next.push),
        ]
        with m.If(~under_way):
            m.d.comb += status.index.eq(gate.index)

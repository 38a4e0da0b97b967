"""The store unit: STOREs of OUT."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import memory_layout
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.bursts import BurstGenerator
from tandem.hw.rtl.gate import Gate
from tandem.hw.rtl.layouts import UnitStatus, clog2, queued_layout, row_bits, view_of
from tandem.hw.rtl.load_dma import bases_layout
from tandem.hw.rtl.out_packer import OutPacker
from tandem.hw.rtl.ports import OrderPort, TokenPort
from tandem.hw.storage import INDEX_BITS
from tandem.hw.topology import MemoryId


class StoreUnit(Block):
    """Executes STOREs in order; a STORE ends when memory has acknowledged its last write.

    A STORE starts when the previous STORE's data has been read and its bursts have been issued.

    Members
    -------
    queue, prev
        Instructions, and the tokens shared with compute.
    bases
        As in `LoadDma`.
    out_enable, out_address, out_data
        Read port of OUT, with a latency of one cycle.
    writes
        To the write master.
    halt
        Begin no more bursts; bursts already begun complete.
    status
        See `UnitStatus`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "queue": In(stream.Signature(queued_layout())),
                "prev": Out(TokenPort()),
                "bases": In(bases_layout(config)),
                "out_enable": Out(1),
                "out_address": Out(config.index_bits(MemoryId.OUT)),
                "out_data": In(8 * config.acc_lanes),
                "writes": Out(OrderPort(config)),
                "halt": In(1),
                "status": Out(UnitStatus()),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        m.submodules.gate = gate = Gate(config)
        m.submodules.bursts = bursts = BurstGenerator(
            config, longest=config.longest_burst, size_bits=row_bits(config)
        )
        m.submodules.packer = packer = OutPacker(config)
        master = self.writes
        wiring.connect(m, wiring.flipped(self.queue), gate.queue)
        wiring.connect(m, packer.beat, wiring.flipped(master.beat))
        m.d.comb += packer.waiting.eq(master.waiting)
        head = data.View(view_of(memory_layout(config)), gate.word)

        # Every burst is an order; an instruction's last order sets `ends`. An instruction without
        # data is one order without a burst.
        empty = Signal()
        pushes = Signal()
        index = Signal(INDEX_BITS, reset_less=True)
        starts = Signal()
        m.d.comb += [
            gate.ready.eq(~bursts.active & ~packer.active & ~empty & ~self.halt),
            gate.prev.available.eq(self.prev.available),
            self.prev.pop.eq(gate.prev.pop),
            starts.eq(gate.start & (head.x_size != 0)),
            bursts.start.eq(starts),
            packer.start.eq(starts),
            packer.word.eq(head),
            master.order.valid.eq(empty | (bursts.burst.valid & ~self.halt)),
            master.order.payload.burst.eq(bursts.burst.payload),
            master.order.payload.writes.eq(~empty),
            master.order.payload.ends.eq(empty | bursts.last),
            master.order.payload.push.eq(pushes),
            master.order.payload.index.eq(index),
            bursts.burst.ready.eq(master.order.ready & ~self.halt),
            self.out_enable.eq(packer.out_enable),
            self.out_address.eq(packer.out_address),
            packer.out_data.eq(self.out_data),
            self.prev.push.eq(master.push),
        ]
        with m.If(gate.start):
            m.d.sync += [pushes.eq(head.push_prev), index.eq(gate.index)]
            m.d.sync += empty.eq(head.x_size == 0)
        with m.Elif(master.order.ready):
            m.d.sync += empty.eq(0)

        shift = clog2(config.element_bytes(MemoryId.OUT))
        m.d.comb += [
            bursts.rows.address.eq(self.bases.out + (head.dram_base << shift)),
            bursts.rows.size.eq(head.x_size << shift),
            bursts.rows.stride.eq(head.x_stride << shift),
            bursts.rows.rows.eq(head.y_size),
            packer.rows.eq(bursts.rows),
        ]
        self._report(m, gate, bursts.active | packer.active | empty, index)

    def _report(self, m: Module, gate: Gate, under_way: Signal, index: Signal) -> None:
        """Drive the status: busy where a STORE starts or a beat moves; else, while anything is
        outstanding, waiting for memory."""
        status, master = self.status, self.writes
        with m.If(gate.start | master.moving):
            m.d.comb += status.busy.eq(1)
        with m.Elif(under_way | ~master.idle):
            m.d.comb += status.memory.eq(1)
        with m.Elif(gate.waits != 0):
            m.d.comb += status.token.eq(1)
        m.d.comb += [
            status.quiet.eq(~under_way & ~gate.start & master.idle),
            status.active.eq(under_way | gate.valid),
            status.index.eq(index),
            status.waits.eq(gate.waits),
            status.end_index.eq(master.index),
            status.events.start.eq(gate.start),
            status.events.end.eq(master.ends),
            status.events.pop_prev.eq(gate.prev.pop),
            status.events.push_prev.eq(master.push),
        ]
        with m.If(~under_way):
            m.d.comb += status.index.eq(gate.index)

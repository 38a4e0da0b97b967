"""The AXI4 write master: addresses ahead of data, responses in order."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hw.axi import INCR
from hw.config import HardwareConfig
from hw.rtl.block import Block
from hw.rtl.layouts import burst_layout, clog2
from hw.rtl.ports import AxiWriteMaster, OrderPort
from hw.rtl.queue import Queue
from hw.storage import BEATS_BITS, INDEX_BITS, storage_of


class WriteMaster(Block):
    """Executes write orders: sends bursts and data, reports completed orders in sequence.

    Addresses are sent without waiting for data or responses, up to `writes_in_flight`; a burst's
    data follows a cycle after AWVALID, with or without AWREADY: AXI4 forbids waiting for AWREADY
    (A3.3.1). An order without a burst is done when all earlier orders are done.

    Members
    -------
    client
        The store unit, see `OrderPort`.
    axi
        AW, W and B.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "client": In(OrderPort(config)),
                "axi": Out(AxiWriteMaster(config)),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        axi, client = self.axi, self.client
        depth = storage_of(config)["outstanding_writes"].depth
        # `outstanding_writes` holds orders without a response, `lengths` the beats of bursts whose
        # data is still to be sent.
        waiting = data.StructLayout({"writes": 1, "ends": 1, "push": 1, "index": INDEX_BITS})
        m.submodules.outstanding_writes = outstanding_writes = Queue(waiting, depth)
        m.submodules.lengths = lengths = Queue(BEATS_BITS, depth)
        address = Signal(data.StructLayout({"valid": 1, "burst": burst_layout(config)}))
        new_address = Signal()
        order = client.order.payload
        space = Signal()
        m.d.comb += [
            space.eq(outstanding_writes.level < config.writes_in_flight),
            client.order.ready.eq(space & (~order.writes | ~address.valid | axi.awready)),
            outstanding_writes.i.valid.eq(client.order.valid & client.order.ready),
        ]
        for name in waiting.members:
            m.d.comb += outstanding_writes.i.payload[name].eq(order[name])
        with m.If(axi.awready):
            m.d.sync += address.valid.eq(0)
        m.d.sync += new_address.eq(0)
        with m.If(client.order.valid & client.order.ready & order.writes):
            m.d.sync += [address.valid.eq(1), address.burst.eq(order.burst), new_address.eq(1)]

        sent = Signal(BEATS_BITS)
        m.d.comb += [
            axi.awvalid.eq(address.valid),
            axi.awid.eq(0),
            axi.awaddr.eq(address.burst.address),
            axi.awlen.eq(address.burst.beats - 1),
            axi.awsize.eq(clog2(config.bus_bytes)),
            axi.awburst.eq(INCR),
            axi.awcache.eq(config.axi_cache),
            axi.awprot.eq(config.axi_prot),
            lengths.i.valid.eq(new_address),
            lengths.i.payload.eq(address.burst.beats),
            axi.wvalid.eq(client.beat.valid & lengths.o.valid),
            axi.wdata.eq(client.beat.payload.data),
            axi.wstrb.eq(client.beat.payload.strobe),
            axi.wlast.eq(sent + 1 == lengths.o.payload),
            client.beat.ready.eq(axi.wready & lengths.o.valid),
            client.moving.eq(axi.wvalid & axi.wready),
            lengths.o.ready.eq(client.moving & axi.wlast),
        ]
        with m.If(client.moving):
            m.d.sync += sent.eq(Mux(axi.wlast, 0, sent + 1))

        # One order is done a cycle; responses wait for their orders in `responses`, with their
        # error bits.
        m.submodules.responses = responses = Queue(1, depth)
        oldest = outstanding_writes.o.payload
        acknowledged = Signal()
        m.d.comb += [
            axi.bready.eq(1),
            outstanding_writes.o.ready.eq(~oldest.writes | responses.o.valid),
            client.done.eq(outstanding_writes.o.valid & outstanding_writes.o.ready),
            acknowledged.eq(client.done & oldest.writes),
            responses.o.ready.eq(acknowledged),
            responses.i.valid.eq(axi.bvalid),
            responses.i.payload.eq(axi.bresp[1]),
            client.ends.eq(client.done & oldest.ends),
            client.push.eq(client.ends & oldest.push),
            client.index.eq(oldest.index),
            client.fault.eq(acknowledged & responses.o.payload),
        ]
        m.d.comb += client.idle.eq(outstanding_writes.level == 0)

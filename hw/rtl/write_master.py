"""The AXI4 write master: addresses ahead of data, responses in order."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from tandem.hw.axi import ID_BITS, INCR
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.block import Block, ResetBy
from tandem.hw.rtl.layouts import burst_layout, clog2, strobed_layout
from tandem.hw.rtl.oldest_address import OldestAddress
from tandem.hw.rtl.ports import AxiWriteMaster, OrderPort
from tandem.hw.rtl.queue import Queue
from tandem.hw.storage import BEATS_BITS, INDEX_BITS, storage_of
from tandem.hw.timing import OUT_QUEUE_BEATS


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
    restart, halt
        The store unit is reset in this cycle; `halt` is high from a fence to that reset.
    epoch, fence
        The ID of the bursts that are accepted. In the cycle of `fence` all orders are given up:
        what is acknowledged with another ID than `epoch` is for nobody. AXI4 wants each burst that
        has an address to be finished: an address that memory has not taken is offered until it
        does; beats that wait are sent, and then beats without strobes.
    owes, moves
        An order is outstanding, or something of a burst is to be sent; memory takes an address or
        a beat, or acknowledges a burst, or an order is done.
    hold, oldest
        The address of the oldest burst, see `OldestAddress`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "client": In(OrderPort(config)),
                "axi": Out(AxiWriteMaster(config)),
                "restart": In(1),
                "halt": In(1),
                "epoch": In(ID_BITS),
                "fence": In(1),
                "owes": Out(1),
                "moves": Out(1),
                "hold": In(1),
                "oldest": Out(config.address_bits),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        axi, client = self.axi, self.client
        storage = storage_of(config)
        depth = storage["outstanding_writes"].depth
        # `outstanding_writes` holds orders without a response, `lengths` the beats of bursts whose
        # data is still to be sent.
        waiting = data.StructLayout({"writes": 1, "ends": 1, "push": 1, "index": INDEX_BITS})
        outstanding_writes = Queue(waiting, depth, numbered=True)
        m.submodules.outstanding_writes = ResetBy(self.fence, outstanding_writes)
        m.submodules.lengths = lengths = Queue(BEATS_BITS, depth)
        layout = data.StructLayout({"valid": 1, "id": ID_BITS, "burst": burst_layout(config)})
        address = Signal(layout)
        new_address = Signal()
        flushing = Signal()
        order = client.order.payload
        space = Signal()
        m.d.comb += [
            # While bursts that were given up are sent, `lengths` might not hold more.
            space.eq((outstanding_writes.level < config.writes_in_flight) & ~flushing),
            client.order.ready.eq(space & (~order.writes | ~address.valid | axi.awready)),
            outstanding_writes.i.valid.eq(client.order.valid & client.order.ready),
        ]
        for name in waiting.members:
            m.d.comb += outstanding_writes.i.payload[name].eq(order[name])
        with m.If(axi.awready):
            m.d.sync += address.valid.eq(0)
        m.d.sync += new_address.eq(0)
        with m.If(client.order.valid & client.order.ready & order.writes):
            m.d.sync += [
                address.valid.eq(1),
                address.id.eq(self.epoch),
                address.burst.eq(order.burst),
                new_address.eq(1),
            ]
        m.d.comb += [
            axi.awvalid.eq(address.valid),
            axi.awid.eq(address.id),
            axi.awaddr.eq(address.burst.address),
            axi.awlen.eq(address.burst.beats - 1),
            axi.awsize.eq(clog2(config.bus_bytes)),
            axi.awburst.eq(INCR),
            axi.awcache.eq(config.axi_cache),
            axi.awprot.eq(config.axi_prot),
            lengths.i.valid.eq(new_address),
            lengths.i.payload.eq(address.burst.beats),
        ]
        self._send(m, lengths, flushing)
        self._answer(m, outstanding_writes)
        # Orders without a burst have numbers, too: the last address is remembered at each.
        accepted = Signal()
        m.d.sync += accepted.eq(outstanding_writes.i.valid)
        m.submodules.addresses = addresses = OldestAddress(bits=config.address_bits, depth=depth)
        m.d.comb += [
            addresses.push.eq(accepted),
            addresses.address.eq(address.burst.address),
            addresses.clear.eq(self.fence),
            addresses.waits.eq(outstanding_writes.o.valid),
            addresses.first.eq(outstanding_writes.first),
            addresses.last.eq(outstanding_writes.last),
            addresses.hold.eq(self.hold),
            self.oldest.eq(addresses.oldest),
            client.idle.eq(outstanding_writes.level == 0),
            self.owes.eq(~client.idle | address.valid | lengths.o.valid),
            self.moves.eq((axi.awvalid & axi.awready) | client.moving | axi.bvalid | client.done),
        ]

    def _send(self, m: Module, lengths: Queue, flushing: Signal) -> None:
        """The W channel. `flushing`, from a fence on, what comes from the store unit is dropped.

        It ends when the bursts that were given up have been sent, and the store unit was reset; no
        order is accepted before.
        Without a fence, only beats that are of no burst can wait at such a reset.
        """
        axi, client = self.axi, self.client
        stored = storage_of(self._config)["out_queue"]
        beats = Queue(strobed_layout(self._config), stored.depth)
        flushed = Signal()
        m.submodules[stored.name] = ResetBy(flushed, beats)
        sent = Signal(BEATS_BITS)
        m.d.comb += [
            flushed.eq(Mux(flushing, ~lengths.o.valid & ~self.halt, self.restart)),
            client.waiting.eq(Mux(flushing, OUT_QUEUE_BEATS, beats.level)),
            beats.i.valid.eq(client.beat.valid | flushing),
            beats.i.payload.data.eq(client.beat.payload.data),
            beats.i.payload.strobe.eq(Mux(flushing, 0, client.beat.payload.strobe)),
            axi.wvalid.eq(beats.o.valid & lengths.o.valid),
            axi.wdata.eq(beats.o.payload.data),
            axi.wstrb.eq(beats.o.payload.strobe),
            axi.wlast.eq(sent + 1 == lengths.o.payload),
            client.moving.eq(axi.wvalid & axi.wready),
            beats.o.ready.eq(client.moving),
            lengths.o.ready.eq(client.moving & axi.wlast),
        ]
        with m.If(client.moving):
            m.d.sync += sent.eq(Mux(axi.wlast, 0, sent + 1))
        with m.If(self.fence):
            m.d.sync += flushing.eq(1)
        with m.Elif(flushed):
            m.d.sync += flushing.eq(0)

    def _answer(self, m: Module, outstanding_writes: Queue) -> None:
        """The B channel.

        One order is done a cycle; responses wait for their orders in `responses`, with their error
        bits.
        """
        axi, client = self.axi, self.client
        responses = Queue(1, storage_of(self._config)["responses"].depth)
        m.submodules.responses = ResetBy(self.fence, responses)
        oldest = outstanding_writes.o.payload
        acknowledged = Signal()
        m.d.comb += [
            axi.bready.eq(1),
            outstanding_writes.o.ready.eq(~oldest.writes | responses.o.valid),
            client.done.eq(outstanding_writes.o.valid & outstanding_writes.o.ready),
            acknowledged.eq(client.done & oldest.writes),
            responses.o.ready.eq(acknowledged),
            responses.i.valid.eq(axi.bvalid & (axi.bid == self.epoch)),
            responses.i.payload.eq(axi.bresp[1]),
            client.ends.eq(client.done & oldest.ends),
            client.push.eq(client.ends & oldest.push),
            client.index.eq(oldest.index),
            client.fault.eq(acknowledged & responses.o.payload),
        ]

"""The AXI4 read master, shared by three clients."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from tandem.hw.axi import ID_BITS, INCR
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.block import Block, ResetBy
from tandem.hw.rtl.layouts import burst_layout, clog2
from tandem.hw.rtl.oldest_address import OldestAddress
from tandem.hw.rtl.ports import AxiReadMaster, ReadPort
from tandem.hw.rtl.queue import Queue
from tandem.hw.storage import storage_of
from tandem.hw.timing import READ_PRIORITY


class ReadMaster(Block):
    """Arbitrates per burst with fixed priority; one address a cycle; data returns in order.

    Members
    -------
    fetch, compute, load
        The clients.
    axi
        AR and R.
    halt
        Accept no more bursts. Bursts already accepted complete.
    epoch, fence
        The ID of the bursts that are accepted. In the cycle of `fence` all outstanding bursts are
        given up: what is answered with another ID than `epoch` is for nobody. An address that
        memory has not taken is offered until it does.
    idle, owes, moves
        No burst is outstanding; one is, or an address is offered; memory takes an address or sends
        a beat.
    fault, fault_client
        Error response to a beat of this client (an index into `READ_PRIORITY`); without a fault,
        the client of the oldest burst, or 0.
    hold, oldest
        The address of the oldest burst, see `OldestAddress`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{client: In(ReadPort(config)) for client in READ_PRIORITY},
                "axi": Out(AxiReadMaster(config)),
                "halt": In(1),
                "epoch": In(ID_BITS),
                "fence": In(1),
                "idle": Out(1),
                "owes": Out(1),
                "moves": Out(1),
                "hold": In(1),
                "fault": Out(1),
                "fault_client": Out(clog2(len(READ_PRIORITY))),
                "oldest": Out(config.address_bits),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        axi = self.axi
        clients = [getattr(self, name) for name in READ_PRIORITY]
        # Data returns in the order of the addresses (of one ID): a queue holds each burst's client.
        # The address register keeps ARVALID and its payload steady until ARREADY.
        depth = storage_of(config)["read_owners"].depth
        read_owners = Queue(range(len(READ_PRIORITY)), depth, numbered=True)
        m.submodules.read_owners = ResetBy(self.fence, read_owners)
        m.submodules.addresses = addresses = OldestAddress(bits=config.address_bits, depth=depth)
        layout = data.StructLayout({"valid": 1, "id": ID_BITS, "burst": burst_layout(config)})
        address = Signal(layout)
        space = Signal()
        accepted = Signal()
        answered = Signal()
        m.d.comb += [
            space.eq(
                (~address.valid | axi.arready)
                & (read_owners.level < config.reads_in_flight)
                & read_owners.i.ready
                & ~self.halt
            ),
            answered.eq(axi.rvalid & (axi.rid == self.epoch)),
            self.idle.eq(read_owners.level == 0),
            self.owes.eq(address.valid | ~self.idle),
            self.moves.eq((axi.arvalid & axi.arready) | axi.rvalid),
            addresses.push.eq(accepted),
            addresses.address.eq(address.burst.address),
            addresses.clear.eq(self.fence),
            addresses.waits.eq(read_owners.o.valid),
            addresses.first.eq(read_owners.first),
            addresses.last.eq(read_owners.last),
            addresses.hold.eq(self.hold),
            self.oldest.eq(addresses.oldest),
        ]
        m.d.sync += accepted.eq(read_owners.i.valid & read_owners.i.ready)

        with m.If(axi.arready):
            m.d.sync += address.valid.eq(0)
        grant = m.If
        for index, client in enumerate(clients):
            with grant(client.request.valid):
                m.d.comb += [
                    client.request.ready.eq(space),
                    read_owners.i.valid.eq(space),
                    read_owners.i.payload.eq(index),
                ]
                with m.If(space):
                    m.d.sync += [
                        address.valid.eq(1),
                        address.id.eq(self.epoch),
                        address.burst.eq(client.request.payload),
                    ]
            grant = m.Elif

        m.d.comb += [
            axi.arvalid.eq(address.valid),
            axi.arid.eq(address.id),
            axi.araddr.eq(address.burst.address),
            axi.arlen.eq(address.burst.beats - 1),
            axi.arsize.eq(clog2(config.bus_bytes)),
            axi.arburst.eq(INCR),
            axi.arcache.eq(config.axi_cache),
            axi.arprot.eq(config.axi_prot),
            axi.rready.eq(Const(1)),
            read_owners.o.ready.eq(answered & axi.rlast),
            self.fault.eq(answered & axi.rresp[1]),
            self.fault_client.eq(Mux(read_owners.o.valid, read_owners.o.payload, 0)),
        ]
        for index, client in enumerate(clients):
            m.d.comb += [
                client.beat.valid.eq(answered & (read_owners.o.payload == index)),
                client.beat.payload.eq(axi.rdata),
            ]

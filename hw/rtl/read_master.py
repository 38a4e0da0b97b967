"""The AXI4 read master, shared by three clients."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hw.axi import INCR
from hw.config import HardwareConfig
from hw.rtl.block import Block
from hw.rtl.layouts import burst_layout, clog2
from hw.rtl.ports import AxiReadMaster, ReadPort
from hw.rtl.queue import Queue
from hw.storage import storage_of
from hw.timing import READ_PRIORITY


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
    idle
        No burst is outstanding.
    fault, fault_client
        Error response to a beat of this client (an index into `READ_PRIORITY`).
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{client: In(ReadPort(config)) for client in READ_PRIORITY},
                "axi": Out(AxiReadMaster(config)),
                "halt": In(1),
                "idle": Out(1),
                "fault": Out(1),
                "fault_client": Out(clog2(len(READ_PRIORITY))),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        axi = self.axi
        clients = [getattr(self, name) for name in READ_PRIORITY]
        # Data returns in the order of the addresses (one ID): a queue holds each burst's client.
        # The address register keeps ARVALID and its payload steady until ARREADY.
        depth = storage_of(config)["read_owners"].depth
        m.submodules.read_owners = read_owners = Queue(range(len(READ_PRIORITY)), depth)
        address = Signal(data.StructLayout({"valid": 1, "burst": burst_layout(config)}))
        space = Signal()
        m.d.comb += [
            space.eq(
                (~address.valid | axi.arready)
                & (read_owners.level < config.reads_in_flight)
                & read_owners.i.ready
                & ~self.halt
            ),
            self.idle.eq(~address.valid & (read_owners.level == 0)),
        ]

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
                        address.burst.eq(client.request.payload),
                    ]
            grant = m.Elif

        m.d.comb += [
            axi.arvalid.eq(address.valid),
            axi.arid.eq(0),
            axi.araddr.eq(address.burst.address),
            axi.arlen.eq(address.burst.beats - 1),
            axi.arsize.eq(clog2(config.bus_bytes)),
            axi.arburst.eq(INCR),
            axi.arcache.eq(config.axi_cache),
            axi.arprot.eq(config.axi_prot),
            axi.rready.eq(Const(1)),
            read_owners.o.ready.eq(axi.rvalid & axi.rlast),
            self.fault.eq(axi.rvalid & axi.rresp[1]),
            self.fault_client.eq(read_owners.o.payload),
        ]
        for index, client in enumerate(clients):
            m.d.comb += [
                client.beat.valid.eq(axi.rvalid & (read_owners.o.payload == index)),
                client.beat.payload.eq(axi.rdata),
            ]

"""Interfaces of blocks: AXI with the signal names of vendor tools, read and token ports."""

from __future__ import annotations

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.axi import ID_BITS
from tandem.hw.config import HardwareConfig
from tandem.hw.registers import ADDRESS_BITS
from tandem.hw.rtl.layouts import burst_layout, order_layout, strobed_layout
from tandem.hw.storage import INDEX_BITS
from tandem.hw.timing import OUT_QUEUE_BEATS, READ_PRIORITY


def AxiReadMaster(config: HardwareConfig) -> wiring.Signature:
    """The AR and R channels of an AXI4 master."""
    return wiring.Signature(
        {
            "arvalid": Out(1),
            "arready": In(1),
            "arid": Out(ID_BITS),
            "araddr": Out(config.address_bits),
            "arlen": Out(8),
            "arsize": Out(3),
            "arburst": Out(2),
            "arcache": Out(4),
            "arprot": Out(3),
            "rvalid": In(1),
            "rready": Out(1),
            "rid": In(ID_BITS),
            "rdata": In(config.bus_bits),
            "rresp": In(2),
            "rlast": In(1),
        }
    )


def AxiWriteMaster(config: HardwareConfig) -> wiring.Signature:
    """The AW, W and B channels of an AXI4 master."""
    return wiring.Signature(
        {
            "awvalid": Out(1),
            "awready": In(1),
            "awid": Out(ID_BITS),
            "awaddr": Out(config.address_bits),
            "awlen": Out(8),
            "awsize": Out(3),
            "awburst": Out(2),
            "awcache": Out(4),
            "awprot": Out(3),
            "wvalid": Out(1),
            "wready": In(1),
            "wdata": Out(config.bus_bits),
            "wstrb": Out(config.bus_bytes),
            "wlast": Out(1),
            "bvalid": In(1),
            "bready": Out(1),
            "bid": In(ID_BITS),
            "bresp": In(2),
        }
    )


def axi_master(config: HardwareConfig) -> wiring.Signature:
    """All five channels of an AXI4 master."""
    return wiring.Signature({**AxiReadMaster(config).members, **AxiWriteMaster(config).members})


def AxiLite() -> wiring.Signature:
    """An AXI4-Lite bus, from the side of the master."""
    return wiring.Signature(
        {
            "awvalid": Out(1),
            "awready": In(1),
            "awaddr": Out(ADDRESS_BITS),
            "awprot": Out(3),
            "wvalid": Out(1),
            "wready": In(1),
            "wdata": Out(32),
            "wstrb": Out(4),
            "bvalid": In(1),
            "bready": Out(1),
            "bresp": In(2),
            "arvalid": Out(1),
            "arready": In(1),
            "araddr": Out(ADDRESS_BITS),
            "arprot": Out(3),
            "rvalid": In(1),
            "rready": Out(1),
            "rdata": In(32),
            "rresp": In(2),
        }
    )


def ReadPort(config: HardwareConfig) -> wiring.Signature:
    """A read master's port for one client: burst requests; beats, in order, always accepted."""
    return wiring.Signature(
        {
            "request": Out(stream.Signature(burst_layout(config))),
            "beat": In(stream.Signature(config.bus_bits, always_ready=True)),
        }
    )


def OrderPort(config: HardwareConfig) -> wiring.Signature:
    """A write master's port for the store unit.

    Members
    -------
    order
        Bursts and ends of instructions, see `order_layout`.
    beat
        The bursts' data, in the same order.
    waiting
        Beats that wait for the bus. Those that come while it says `OUT_QUEUE_BEATS` are lost.
    done
        An order is done in this cycle; `ends`, `push` and `index` are fields of that order.
    fault
        Error response to the order that is done.
    idle
        No order is outstanding.
    moving
        A beat is written in this cycle.
    """
    return wiring.Signature(
        {
            "order": Out(stream.Signature(order_layout(config))),
            "beat": Out(stream.Signature(strobed_layout(config), always_ready=True)),
            "waiting": In(range(OUT_QUEUE_BEATS + 1)),
            "done": In(1),
            "ends": In(1),
            "push": In(1),
            "index": In(INDEX_BITS),
            "fault": In(1),
            "idle": In(1),
            "moving": In(1),
        }
    )


def BusPort(config: HardwareConfig) -> wiring.Signature:
    """The core's side of the bus: three clients of the read master, one of the write master.

    Members
    -------
    halt
        Grant no more bursts; those already granted complete. High from a fence to the core's reset.
    reads_idle, idle
        No read is outstanding; no read and no write.
    read_fault, read_client
        Error response to a beat of this client (an index into `READ_PRIORITY`).
    expired, of_write
        Nothing moved for too long, see `BusTimer`. The oldest outstanding burst, of `read_client`
        or, if `of_write`, of the order `writes.index`, should have.
    """
    return wiring.Signature(
        {
            **{client: Out(ReadPort(config)) for client in READ_PRIORITY},
            "writes": Out(OrderPort(config)),
            "halt": Out(1),
            "reads_idle": In(1),
            "idle": In(1),
            "read_fault": In(1),
            "read_client": In(range(len(READ_PRIORITY))),
            "expired": In(1),
            "of_write": In(1),
        }
    )


def TokenPort() -> wiring.Signature:
    """A unit's side of the two token queues that it shares with one neighbour."""
    return wiring.Signature({"available": In(1), "pop": Out(1), "push": Out(1)})

"""The AXI4 master: reads and writes side by side, and what is done when memory stops answering.

A fence gives up all that is outstanding, so that the core can be reset and launched again. AXI4
takes nothing back that was begun: an address that is offered stays until it is taken, a burst with
an address gets all its data, and an answer may still come. So bursts carry the number of fences
since the reset, the epoch, as their ID, and answers with another ID are for nobody.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.axi import ID_BITS
from tandem.hw.config import HardwareConfig
from tandem.hw.registers import BUS_TIMEOUT_BITS
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.bus_timer import BusTimer
from tandem.hw.rtl.ports import BusPort, axi_master
from tandem.hw.rtl.read_master import ReadMaster
from tandem.hw.rtl.write_master import WriteMaster
from tandem.hw.timing import READ_PRIORITY


class Bus(Block):
    """Both masters behind one port.

    Members
    -------
    core
        The clients.
    axi
        The AXI4 master.
    restart
        The core is reset in this cycle; outside of a fence, only while the bus is idle.
    limit
        As in `BusTimer`.
    fence
        Give up all that is outstanding, while the core is halted.
    closed
        There was a fence for each ID: nothing new can be begun before a reset.
    keep, address
        While `expired` is high, the address of the oldest burst that is outstanding; without one,
        of the last that was given up. It stays while `keep` is high from the next cycle on.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "core": In(BusPort(config)),
                "axi": Out(axi_master(config)),
                "restart": In(1),
                "limit": In(BUS_TIMEOUT_BITS),
                "fence": In(1),
                "closed": Out(1),
                "keep": In(1),
                "address": Out(config.address_bits),
            }
        )

    def build(self, m: Module) -> None:
        core = self.core
        m.submodules.read_master = reads = ReadMaster(self._config)
        m.submodules.write_master = writes = WriteMaster(self._config)
        m.submodules.timer = timer = BusTimer()
        for client in READ_PRIORITY:
            wiring.connect(m, wiring.flipped(getattr(core, client)), getattr(reads, client))
        wiring.connect(m, wiring.flipped(core.writes), writes.client)
        epoch = Signal(ID_BITS)
        for master in (reads, writes):
            m.d.comb += [
                master.halt.eq(core.halt),
                master.epoch.eq(epoch),
                master.fence.eq(self.fence),
            ]
        with m.If(self.fence):
            with m.If(epoch == (1 << ID_BITS) - 1):
                m.d.sync += self.closed.eq(1)
            with m.Else():
                m.d.sync += epoch.eq(epoch + 1)
        m.d.comb += writes.restart.eq(self.restart)
        # Of a read and a write that both are outstanding, the read is reported. Both are those of
        # the cycle before, as the addresses are.
        reader = Signal.like(reads.fault_client)
        written = Signal()
        hold = Signal()
        expired = Signal()
        m.d.sync += [
            expired.eq(timer.expired),
            reader.eq(reads.fault_client),
            core.of_write.eq(reads.idle & ~writes.client.idle),
        ]
        with m.If(~hold):
            # What was given up has an address, and no instruction: as a fetch of the program.
            m.d.sync += written.eq(~reads.owes)
        m.d.comb += [
            core.reads_idle.eq(reads.idle),
            core.idle.eq(reads.idle & writes.client.idle),
            core.read_fault.eq(reads.fault),
            core.read_client.eq(Mux(reads.fault, reads.fault_client, reader)),
            timer.limit.eq(self.limit),
            timer.silent.eq((reads.owes | writes.owes) & ~(reads.moves | writes.moves)),
            core.expired.eq(timer.expired),
            # A bus that is still silent in the next launch owes what was given up by then.
            hold.eq((timer.expired & ~expired) | self.keep),
            reads.hold.eq(hold),
            writes.hold.eq(hold),
            self.address.eq(Mux(written, writes.oldest, reads.oldest)),
        ]
        self._join(m, reads, writes)

    def _join(self, m: Module, reads: ReadMaster, writes: WriteMaster) -> None:
        """Join the channels of both masters to one AXI4 master."""
        for half in (reads.axi, writes.axi):
            for name, member in half.signature.members.items():
                inside, outside = getattr(half, name), getattr(self.axi, name)
                if member.flow == Out:
                    m.d.comb += outside.eq(inside)
                else:
                    m.d.comb += inside.eq(outside)

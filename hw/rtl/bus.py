"""The AXI4 master: reads and writes side by side."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.rtl.block import Block
from hw.rtl.ports import BusPort, axi_master
from hw.rtl.read_master import ReadMaster
from hw.rtl.write_master import WriteMaster
from hw.timing import READ_PRIORITY


class Bus(Block):
    """Both masters behind one port.

    Members
    -------
    core
        The clients.
    axi
        The AXI4 master.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__({"core": In(BusPort(config)), "axi": Out(axi_master(config))})

    def build(self, m: Module) -> None:
        core = self.core
        m.submodules.read_master = reads = ReadMaster(self._config)
        m.submodules.write_master = writes = WriteMaster(self._config)
        for client in READ_PRIORITY:
            wiring.connect(m, wiring.flipped(getattr(core, client)), getattr(reads, client))
        wiring.connect(m, wiring.flipped(core.writes), writes.client)
        m.d.comb += [
            reads.halt.eq(core.halt),
            core.reads_idle.eq(reads.idle),
            core.idle.eq(reads.idle & writes.client.idle),
            core.read_fault.eq(reads.fault),
            core.read_client.eq(reads.fault_client),
        ]
        for half in (reads.axi, writes.axi):
            for name, member in half.signature.members.items():
                inside, outside = getattr(half, name), getattr(self.axi, name)
                if member.flow == Out:
                    m.d.comb += outside.eq(inside)
                else:
                    m.d.comb += inside.eq(outside)

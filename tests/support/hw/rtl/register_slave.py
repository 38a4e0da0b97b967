"""The registers of a machine behind their AXI4-Lite slave."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.axi_lite import AxiLiteSlave
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.ports import AxiLite
from tandem.hw.rtl.register_file import RegisterFile


class RegisterSlave(Block):
    """`axi` is the bus; `registers` has the members that the machine drives and reads."""

    def __init__(self, config: HardwareConfig) -> None:
        self.registers = RegisterFile(config)
        super().__init__({"axi": In(AxiLite())})

    def build(self, m: Module) -> None:
        """Both blocks, connected."""
        m.submodules.slave = slave = AxiLiteSlave()
        m.submodules.registers = self.registers
        wiring.connect(m, wiring.flipped(self.axi), slave.axi)
        wiring.connect(m, slave.port, self.registers.port)

"""Blocks with the masters of the bus that are beside them in the machine."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.bus import Bus
from tandem.hw.rtl.core import Core
from tandem.hw.rtl.ports import AxiWriteMaster, axi_master
from tandem.hw.rtl.store import StoreUnit
from tandem.hw.rtl.write_master import WriteMaster


class CoreOnBus(Block):
    """A core and both masters; `axi` is the AXI4 master."""

    def __init__(self, config: HardwareConfig) -> None:
        self.core = Core(config)
        self.bus = Bus(config)
        super().__init__({"axi": Out(axi_master(config))})

    def build(self, m: Module) -> None:
        """The blocks, connected."""
        m.submodules.core, m.submodules.bus = self.core, self.bus
        wiring.connect(m, self.core.bus, self.bus.core)
        wiring.connect(m, self.bus.axi, wiring.flipped(self.axi))


class StoreOnBus(Block):
    """A store unit and its master; `axi` is AW, W and B."""

    def __init__(self, config: HardwareConfig) -> None:
        self.unit = StoreUnit(config)
        self.master = WriteMaster(config)
        super().__init__({"axi": Out(AxiWriteMaster(config))})

    def build(self, m: Module) -> None:
        """The blocks, connected."""
        m.submodules.unit, m.submodules.master = self.unit, self.master
        wiring.connect(m, self.unit.writes, self.master.client)
        wiring.connect(m, self.master.axi, wiring.flipped(self.axi))

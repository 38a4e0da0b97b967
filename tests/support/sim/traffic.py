"""A traffic generator with the accelerator's ports, which can violate the rules of AXI.

Once launched, the generator reads and writes bursts at full speed, and shows every handshake on
`events`. Registers: 0x008 launch (bit 0) and 0x00C status (bit 1: done) are the accelerator's; the
others are `Traffic`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any

from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.events import EVENT_BITS, RUNNING_BIT
from tandem.hw.rtl.netlist import ExportedCircuit, ports_of
from tandem.hw.rtl.ports import AxiLite, axi_master
from tandem.hw.rtl.verilog import VerilogDesign

CONFIG = HardwareConfig(name="traffic", bus_bits=64)
LAUNCH, STATUS = 0x008, 0x00C


class Setting(IntEnum):
    """Registers that are written before a launch."""

    READ_ADDRESS = 0x040
    WRITE_ADDRESS = 0x044
    READS = 0x048
    WRITES = 0x04C
    LENGTH = 0x050
    MISDEEDS = 0x054
    STROBES = 0x058


CHECKSUM, WORST = 0x100, 0x104


class AxiViolation(IntFlag):
    """Rules of AXI to break."""

    NONE = 0
    MOVE_AR = 1
    DROP_AW = 2
    CHANGE_W = 4
    NEVER_LAST = 8
    NARROW = 16
    HANDS_OFF = 32
    """Take read data and write responses only every other cycle: legal but slow."""


class Handshake(IntEnum):
    """Bits of `events`."""

    AR = 0
    R = 1
    AW = 6
    W = 7
    B = 12
    RUNNING = RUNNING_BIT


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of one launch. `length` is in beats, addresses in bytes."""

    reads: int = 0
    writes: int = 0
    length: int = 1
    read_address: int = 0
    write_address: int = 0
    misdeeds: AxiViolation = AxiViolation.NONE
    strobes: int = 0xFF

    def settings(self) -> dict[Setting, int]:
        """The values of the generator's registers."""
        return {
            Setting.READ_ADDRESS: self.read_address,
            Setting.WRITE_ADDRESS: self.write_address,
            Setting.READS: self.reads,
            Setting.WRITES: self.writes,
            Setting.LENGTH: self.length,
            Setting.MISDEEDS: self.misdeeds,
            Setting.STROBES: self.strobes,
        }


def pattern(beat: int) -> int:
    """The data of a write beat, counted from the launch."""
    return (beat + 1) * 0x0101_0101_0101_0101 & (1 << 64) - 1


class TrafficGenerator(wiring.Component):  # type: ignore[misc]  # Amaranth is untyped
    """The traffic generator."""

    def __init__(self) -> None:
        super().__init__(
            {
                "m_axi": Out(axi_master(CONFIG)),
                "s_axi": In(AxiLite()),
                "irq": Out(1),
                "events": Out(EVENT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        settings = {setting: Signal(32, name=setting.name.lower()) for setting in Setting}
        running, done, launch = Signal(), Signal(), Signal()
        checksum, worst = Signal(64), Signal(2)
        reads_left, writes_left = Signal(32), Signal(32)
        misdeed = {item: settings[Setting.MISDEEDS][i] for i, item in enumerate(AxiViolation)}
        busy = Signal()
        m.d.comb += busy.eq((reads_left | writes_left).any())
        with m.If(launch):
            m.d.sync += [
                running.eq(1),
                done.eq(0),
                checksum.eq(0),
                worst.eq(0),
                reads_left.eq(settings[Setting.READS] * settings[Setting.LENGTH]),
                writes_left.eq(settings[Setting.WRITES]),
            ]
        with m.Elif(running & ~busy):
            m.d.sync += [running.eq(0), done.eq(1)]
        m.d.comb += self.irq.eq(done)
        hands = Signal()
        m.d.sync += hands.eq(~hands)
        open_hands = ~misdeed[AxiViolation.HANDS_OFF] | hands
        fired = {
            Handshake.AR: self._reads(m, settings, misdeed, launch, running),
            Handshake.R: self.m_axi.rvalid & self.m_axi.rready,
            Handshake.AW: self._write_addresses(m, settings, misdeed, launch, running),
            Handshake.W: self._write_data(m, settings, misdeed, launch, running),
            Handshake.B: self.m_axi.bvalid & self.m_axi.bready,
        }
        m.d.comb += [self.m_axi.rready.eq(open_hands), self.m_axi.bready.eq(open_hands)]
        with m.If(fired[Handshake.R]):
            m.d.sync += [reads_left.eq(reads_left - 1), checksum.eq(checksum + self.m_axi.rdata)]
            m.d.sync += worst.eq(worst | self.m_axi.rresp)
        with m.If(fired[Handshake.B]):
            m.d.sync += [writes_left.eq(writes_left - 1), worst.eq(worst | self.m_axi.bresp)]
        for handshake, happened in fired.items():
            m.d.sync += self.events[handshake].eq(happened)
        m.d.sync += self.events[Handshake.RUNNING].eq(running)
        answers = {STATUS: done << 1, CHECKSUM: checksum[:32], CHECKSUM + 8: checksum[32:]}
        self._registers(m, settings, launch, {**answers, WORST: worst})
        return m

    def _reads(self, m: Module, settings: Any, misdeed: Any, launch: Any, running: Any) -> Value:
        axi, left, address = self.m_axi, Signal(32), Signal(32)
        with m.If(launch):
            m.d.sync += [
                left.eq(settings[Setting.READS]),
                address.eq(settings[Setting.READ_ADDRESS]),
            ]
        m.d.comb += [
            axi.arvalid.eq(running & left.any()),
            axi.araddr.eq(address),
            axi.arlen.eq(settings[Setting.LENGTH] - 1),
            axi.arsize.eq(Mux(misdeed[AxiViolation.NARROW], 2, 3)),
            axi.arburst.eq(1),
        ]
        fired = axi.arvalid & axi.arready
        with m.If(fired):
            m.d.sync += [
                left.eq(left - 1),
                address.eq(address + 8 * settings[Setting.LENGTH]),
            ]
        with m.Elif(axi.arvalid & misdeed[AxiViolation.MOVE_AR]):
            m.d.sync += address.eq(address + 8)
        return fired

    def _write_addresses(
        self, m: Module, settings: Any, misdeed: Any, launch: Any, running: Any
    ) -> Value:
        axi, left, address, hide = self.m_axi, Signal(32), Signal(32), Signal()
        with m.If(launch):
            m.d.sync += [
                left.eq(settings[Setting.WRITES]),
                address.eq(settings[Setting.WRITE_ADDRESS]),
            ]
        m.d.comb += [
            axi.awvalid.eq(running & left.any() & ~hide),
            axi.awaddr.eq(address),
            axi.awlen.eq(settings[Setting.LENGTH] - 1),
            axi.awsize.eq(3),
            axi.awburst.eq(1),
        ]
        fired = axi.awvalid & axi.awready
        m.d.sync += hide.eq(misdeed[AxiViolation.DROP_AW] & axi.awvalid & ~axi.awready)
        with m.If(fired):
            m.d.sync += [
                left.eq(left - 1),
                address.eq(address + 8 * settings[Setting.LENGTH]),
            ]
        return fired

    def _write_data(
        self, m: Module, settings: Any, misdeed: Any, launch: Any, running: Any
    ) -> Value:
        axi, left, beat, data = self.m_axi, Signal(32), Signal(32), Signal(64)
        with m.If(launch):
            m.d.sync += [
                left.eq(settings[Setting.WRITES] * settings[Setting.LENGTH]),
                beat.eq(1),
                data.eq(pattern(0)),
            ]
        last = beat == settings[Setting.LENGTH]
        m.d.comb += [
            axi.wvalid.eq(running & left.any()),
            axi.wdata.eq(data),
            axi.wstrb.eq(settings[Setting.STROBES]),
            axi.wlast.eq(last & ~misdeed[AxiViolation.NEVER_LAST]),
        ]
        fired = axi.wvalid & axi.wready
        with m.If(fired):
            m.d.sync += [
                left.eq(left - 1),
                beat.eq(Mux(last, 1, beat + 1)),
                data.eq(data + pattern(0)),
            ]
        with m.Elif(axi.wvalid & misdeed[AxiViolation.CHANGE_W]):
            m.d.sync += data.eq(~data)
        return fired

    def _registers(self, m: Module, settings: Any, launch: Any, answers: dict[int, Any]) -> None:
        """A register slave that responds within the cycle, which the accelerator's need not."""
        axi = self.s_axi
        m.d.comb += [
            axi.awready.eq(axi.awvalid & axi.wvalid & ~axi.bvalid),
            axi.wready.eq(axi.awready),
            axi.arready.eq(axi.arvalid & ~axi.rvalid),
            launch.eq(axi.awready & (axi.awaddr == LAUNCH) & axi.wdata[0]),
        ]
        with m.If(axi.bvalid & axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(axi.awready):
            m.d.sync += axi.bvalid.eq(1)
            for setting, value in settings.items():
                with m.If(axi.awaddr == setting):
                    m.d.sync += value.eq(axi.wdata)
        with m.If(axi.rvalid & axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(axi.arready):
            m.d.sync += [axi.rvalid.eq(1), axi.rresp.eq(2), axi.rdata.eq(0)]
            for offset, value in answers.items():
                with m.If(axi.araddr == offset):
                    m.d.sync += [axi.rresp.eq(0), axi.rdata.eq(value)]


def traffic_design() -> VerilogDesign:
    """The generator as Verilog with the accelerator's ports."""
    generator = TrafficGenerator()
    aclk, aresetn = Signal(), Signal()
    board = Module()
    board.domains.sync = sync = ClockDomain()
    board.d.comb += [sync.clk.eq(aclk), sync.rst.eq(~aresetn)]
    board.submodules.generator = generator
    ports = {"aclk": (In, aclk), "aresetn": (In, aresetn), **ports_of(generator)}
    text = verilog.convert(ExportedCircuit(board, ports), name="tandem", emit_src=False)
    return VerilogDesign("tandem", {"tandem.v": text}, ("tandem",))

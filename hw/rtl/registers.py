"""The control registers as an AXI4-Lite slave."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.axi import Response
from hw.features import Feature
from hw.registers import ADDRESS_BITS, Access, Register, registers_of
from hw.rtl.block import Block
from hw.rtl.ports import AxiLite

WORD_BITS = 32
WORD_BYTES = 4


class Registers(Block):
    """AXI4-Lite slave with the registers of a machine with `features`.

    Members
    -------
    axi
        The bus. At most one read and one write are outstanding; an address without a register
        is answered with SLVERR.
    a read-only register
        In: the value that a read returns.
    a read-write register
        Out: the value last written.
    a write-one register
        `<name>_set`, out: the bits written as 1, in the cycle after the write; `<name>`, in: the
        value read.
    """

    def __init__(self, features: frozenset[Feature]) -> None:
        self._registers = registers_of(features)
        members = {}
        for register in self._registers:
            match register.access:
                case Access.READ_ONLY:
                    members[register.name] = In(register.bits)
                case Access.READ_WRITE:
                    members[register.name] = Out(register.bits)
                case Access.WRITE_ONE:
                    members[register.name] = In(register.bits)
                    members[f"{register.name}_set"] = Out(register.bits)
        super().__init__({"axi": In(AxiLite()), **members})

    def build(self, m: Module) -> None:
        words = {
            register.offset + WORD_BYTES * part: (register, part)
            for register in self._registers
            for part in range(register.bits // WORD_BITS)
        }
        self._writes(m, words)
        self._reads(m, words)

    def _word(self, register: Register, part: int) -> Value:
        return getattr(self, register.name).word_select(part, WORD_BITS)

    def _writes(self, m: Module, words: dict[int, tuple[Register, int]]) -> None:
        """Hold write address and write data, which arrive in either order, until both are valid."""
        axi = self.axi
        address = Signal(ADDRESS_BITS, reset_less=True)
        value = Signal(WORD_BITS, reset_less=True)
        strobe = Signal(WORD_BYTES, reset_less=True)
        has_address = Signal()
        has_data = Signal()
        act = Signal()
        m.d.comb += [
            axi.awready.eq(~has_address),
            axi.wready.eq(~has_data),
            act.eq(has_address & has_data & ~axi.bvalid),
        ]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [has_address.eq(1), address.eq(axi.awaddr)]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [has_data.eq(1), value.eq(axi.wdata), strobe.eq(axi.wstrb)]
        with m.If(axi.bvalid & axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(act):
            m.d.sync += [has_address.eq(0), has_data.eq(0), axi.bvalid.eq(1)]
            m.d.sync += axi.bresp.eq(Response.SLVERR)
        for register, _ in words.values():
            if register.access is Access.WRITE_ONE:
                m.d.sync += getattr(self, f"{register.name}_set").eq(0)
        with m.Switch(address[2:]):
            for offset, (register, part) in words.items():
                with m.Case(offset // WORD_BYTES), m.If(act):
                    m.d.sync += axi.bresp.eq(Response.OKAY)
                    self._write(m, register, part, value, strobe)

    def _write(self, m: Module, register: Register, part: int, value: Value, strobe: Value) -> None:
        for lane in range(WORD_BYTES):
            new = value.word_select(lane, 8)
            with m.If(strobe[lane]):
                match register.access:
                    case Access.READ_WRITE:
                        m.d.sync += self._word(register, part).word_select(lane, 8).eq(new)
                    case Access.WRITE_ONE:
                        target = getattr(self, f"{register.name}_set")
                        m.d.sync += target.word_select(lane, 8).eq(new)
                    case Access.READ_ONLY:
                        pass

    def _reads(self, m: Module, words: dict[int, tuple[Register, int]]) -> None:
        """Hold the read address for a cycle, in which the register is selected."""
        axi = self.axi
        address = Signal(ADDRESS_BITS, reset_less=True)
        selects = Signal()
        m.d.comb += axi.arready.eq(~selects & ~axi.rvalid)
        m.d.sync += selects.eq(axi.arvalid & axi.arready)
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += address.eq(axi.araddr)
        with m.If(axi.rvalid & axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(selects):
            m.d.sync += [axi.rvalid.eq(1), axi.rresp.eq(Response.SLVERR), axi.rdata.eq(0)]
            with m.Switch(address[2:]):
                for offset, (register, part) in words.items():
                    with m.Case(offset // WORD_BYTES):
                        m.d.sync += [
                            axi.rresp.eq(Response.OKAY),
                            axi.rdata.eq(self._word(register, part)),
                        ]

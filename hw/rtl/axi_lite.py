"""The AXI4-Lite slave in front of the control registers."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.axi import Response
from tandem.hw.register_model import WORD_BITS, WORD_BYTES
from tandem.hw.registers import ADDRESS_BITS
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.ports import AxiLite


def WordPort() -> wiring.Signature:
    """Accesses to words of registers, each answered in its cycle: `known` says whether there is a
    register (if not, 0 is read), `words` are addresses in words.

    A write is done in the cycle in which `write` is high; `strobe` has a bit for each byte.
    """
    return wiring.Signature(
        {
            "write": Out(1),
            "write_word": Out(ADDRESS_BITS - 2),
            "write_data": Out(WORD_BITS),
            "strobe": Out(WORD_BYTES),
            "write_known": In(1),
            "read_word": Out(ADDRESS_BITS - 2),
            "read_data": In(WORD_BITS),
            "read_known": In(1),
        }
    )


class AxiLiteSlave(Block):
    """Answers one read and one write at a time; an address without a register with SLVERR.

    Members
    -------
    axi
        The bus.
    port
        To the registers.
    """

    def __init__(self) -> None:
        super().__init__({"axi": In(AxiLite()), "port": Out(WordPort())})

    def build(self, m: Module) -> None:
        self._writes(m)
        self._reads(m)

    def _writes(self, m: Module) -> None:
        """Hold write address and write data, which arrive in either order, until both are valid."""
        axi, port = self.axi, self.port
        address = Signal(ADDRESS_BITS, reset_less=True)
        value = Signal(WORD_BITS, reset_less=True)
        strobe = Signal(WORD_BYTES, reset_less=True)
        has_address = Signal()
        has_data = Signal()
        m.d.comb += [
            axi.awready.eq(~has_address),
            axi.wready.eq(~has_data),
            port.write.eq(has_address & has_data & ~axi.bvalid),
            port.write_word.eq(address[2:]),
            port.write_data.eq(value),
            port.strobe.eq(strobe),
        ]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [has_address.eq(1), address.eq(axi.awaddr)]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [has_data.eq(1), value.eq(axi.wdata), strobe.eq(axi.wstrb)]
        with m.If(axi.bvalid & axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(port.write):
            m.d.sync += [has_address.eq(0), has_data.eq(0), axi.bvalid.eq(1)]
            m.d.sync += axi.bresp.eq(Response.SLVERR)
            with m.If(port.write_known):
                m.d.sync += axi.bresp.eq(Response.OKAY)

    def _reads(self, m: Module) -> None:
        """Hold the read address for a cycle, in which the register is selected."""
        axi, port = self.axi, self.port
        address = Signal(ADDRESS_BITS, reset_less=True)
        selects = Signal()
        m.d.comb += [
            axi.arready.eq(~selects & ~axi.rvalid),
            port.read_word.eq(address[2:]),
        ]
        m.d.sync += selects.eq(axi.arvalid & axi.arready)
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += address.eq(axi.araddr)
        with m.If(axi.rvalid & axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(selects):
            m.d.sync += [axi.rvalid.eq(1), axi.rdata.eq(port.read_data)]
            m.d.sync += axi.rresp.eq(Mux(port.read_known, Response.OKAY, Response.SLVERR))

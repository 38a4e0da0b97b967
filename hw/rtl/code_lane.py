"""A lane of the widener: a code looked up in the lane's copy of the table."""

from __future__ import annotations

from amaranth.hdl import Module, Mux
from amaranth.lib import data, memory
from amaranth.lib.wiring import In, Out

from tandem.hw.codings import TABLE_ENTRIES
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import clog2

ENTRY_BITS = 8
TABLE_WRITE = data.StructLayout({"valid": 1, "index": clog2(TABLE_ENTRIES), "entry": ENTRY_BITS})
"""A write of one entry of the table."""


class CodeLane(Block):
    """Registers a weight: the entry of a code, or a byte as it is; zero for padding.

    The table is a memory that is read without a clock: look-up tables, of which a lane takes fewer
    than a multiplexer of registers would.

    Parameters
    ----------
    entries
        Of the table that the lane's codes reach, from the first on.

    Members
    -------
    set_entry
        Writes of the table; those of entries that the lane lacks have no effect.
    code, plain, coded
        What comes in, and whether it is the code that counts.
    pad
        The weight is zero.
    weight
        A cycle later.
    """

    def __init__(self, entries: int) -> None:
        self._entries = entries
        super().__init__(
            {
                "set_entry": In(TABLE_WRITE),
                "code": In(clog2(entries)),
                "plain": In(ENTRY_BITS),
                "coded": In(1),
                "pad": In(1),
                "weight": Out(ENTRY_BITS),
            }
        )

    def variant(self) -> str:
        """Module suffix: entries of the table."""
        return str(self._entries)

    def build(self, m: Module) -> None:
        m.submodules.table_copy = copy = memory.Memory(
            shape=ENTRY_BITS, depth=self._entries, init=[]
        )
        write, read = copy.write_port(), copy.read_port(domain="comb")
        index_bits = clog2(self._entries)
        m.d.comb += [
            write.en.eq(self.set_entry.valid & ~self.set_entry.index[index_bits:].any()),
            write.addr.eq(self.set_entry.index),
            write.data.eq(self.set_entry.entry),
            read.addr.eq(self.code),
        ]
        m.d.sync += self.weight.eq(Mux(self.coded, read.data, self.plain))
        with m.If(self.pad):
            m.d.sync += self.weight.eq(0)

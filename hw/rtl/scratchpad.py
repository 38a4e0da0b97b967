"""On-chip memories, in columns: arrays with a write enable for each part of a word.

Simulators read a column's word from adjacent addresses; of arrays a bank wide, which lie a power of
two of bytes apart, each would be a cache miss. A column is no wider than two lines of a cache, for
Yosys takes minutes for arrays of thousands of bits with dozens of write enables.
"""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import clog2

NO_COLLISIONS = {"no_rw_check": 1}
"""Memory attribute of Yosys: a read of an address in the cycle of its write is undefined.

Without the attribute, block RAM that guarantees nothing for such a read (ECP5's) gets registers,
comparators and multiplexers around it, to return the old content as Amaranth's memories do.
"""

COLUMN_BITS = 1024
"""The widest column, unless a write enable is for more."""


class OnChipMemory(Block):
    """Memory with a write enable for `grain` bits each, a synchronous read port, and no reset.

    It is an array or, if it is wider than a column may be, several narrower ones side by side. A
    read of the address that is written in the same cycle gives an undefined value.
    """

    def __init__(self, *, bits: int, depth: int, grain: int) -> None:
        self._bits = bits
        self._depth = depth
        self._grain = grain
        self._column = max(grain, min(bits, COLUMN_BITS))
        super().__init__(
            {
                "write_enable": In(bits // grain),
                "write_address": In(clog2(depth)),
                "write_data": In(bits),
                "read_enable": In(1),
                "read_address": In(clog2(depth)),
                "read_data": Out(bits),
            }
        )

    def variant(self) -> str:
        """Bits and depth, and the bits of a write enable if there are several."""
        parts = "" if self._grain == self._bits else f"_by_{self._grain}"
        return f"{self._bits}x{self._depth}{parts}"

    def remark(self) -> str:
        """The contract of an array, for a memory macro in its place."""
        if self._column != self._bits:
            return ""
        return f"""
A memory of {self._depth} words of {self._bits} bits. Another module of this name with these
ports, as a wrapper around a memory macro, may take its place if it keeps the contract:
- One port writes and one reads, each at the rising edge of clk.
- Bit i of write_enable writes the {self._grain} bits of write_data from bit {self._grain} * i on.
- After an edge with read_enable, read_data is the word that was at read_address; it stays
  until the next such edge.
- A read of an address at the edge that writes it may give anything.
- There is no reset: words and read_data are undefined until written and read.
"""

    def build(self, m: Module) -> None:
        if self._column == self._bits:
            self._array(m)
        else:
            self._columns(m, self._column)

    def _array(self, m: Module) -> None:
        m.submodules.array = array = memory.Memory(
            shape=self._bits, depth=self._depth, init=[], attrs=NO_COLLISIONS
        )
        granularity = None if self._grain == self._bits else self._grain
        write = array.write_port(granularity=granularity)
        read = array.read_port()
        m.d.comb += [
            write.en.eq(self.write_enable),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            read.en.eq(self.read_enable),
            read.addr.eq(self.read_address),
            self.read_data.eq(read.data),
        ]

    def _columns(self, m: Module, width: int) -> None:
        enables = width // self._grain
        for index in range(self._bits // width):
            column = OnChipMemory(bits=width, depth=self._depth, grain=self._grain)
            m.submodules[f"column_{index}"] = column
            m.d.comb += [
                column.write_enable.eq(self.write_enable.word_select(index, enables)),
                column.write_address.eq(self.write_address),
                column.write_data.eq(self.write_data.word_select(index, width)),
                column.read_enable.eq(self.read_enable),
                column.read_address.eq(self.read_address),
                self.read_data.word_select(index, width).eq(column.read_data),
            ]


class Scratchpad(Block):
    """A memory of `bits`-wide elements that a DMA fills a bank of `bank_bits` at a time, or up to
    `word_banks` banks.

    Members
    -------
    write_enable
        One bit per bank.
    write_data
        Data for `word_banks` neighbouring banks, the same for all such groups of banks.
    read_enable, read_address, read_data
        Read port of whole elements, with a latency of one cycle.
    """

    def __init__(self, *, bits: int, bank_bits: int, depth: int, word_banks: int = 1) -> None:
        self._bits = bits
        self._bank_bits = bank_bits
        self._word_banks = word_banks
        self._depth = depth
        self.banks = bits // bank_bits
        super().__init__(
            {
                "write_enable": In(self.banks),
                "write_address": In(clog2(depth)),
                "write_data": In(word_banks * bank_bits),
                "read_enable": In(1),
                "read_address": In(clog2(depth)),
                "read_data": Out(bits),
            }
        )

    def variant(self) -> str:
        """Bits and depth, and the banks of a write if there can be several."""
        banks = "" if self._word_banks == 1 else f"_{self._word_banks}_banks"
        return f"{self._bits}x{self._depth}{banks}"

    def build(self, m: Module) -> None:
        m.submodules.memory = memory = OnChipMemory(
            bits=self._bits, depth=self._depth, grain=self._bank_bits
        )
        m.d.comb += [
            memory.write_enable.eq(self.write_enable),
            memory.write_address.eq(self.write_address),
            memory.write_data.eq(self.write_data.replicate(self.banks // self._word_banks)),
            memory.read_enable.eq(self.read_enable),
            memory.read_address.eq(self.read_address),
            self.read_data.eq(memory.read_data),
        ]

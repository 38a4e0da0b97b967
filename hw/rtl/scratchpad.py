"""On-chip memories, built from banks that block RAM can hold."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out

from hw.rtl.block import Block
from hw.rtl.layouts import clog2

NO_COLLISIONS = {"no_rw_check": 1}
"""Memory attribute of Yosys: a read of an address in the cycle of its write is undefined.

Without the attribute, block RAM that guarantees nothing for such a read (ECP5's) gets registers,
comparators and multiplexers around it, to return the old content as Amaranth's memories do.
"""


class MemoryBank(Block):
    """Memory with a write enable per `grain` bits, a synchronous read port, and no reset.

    A read of the address that is written in the same cycle gives an undefined value.
    """

    def __init__(self, *, bits: int, depth: int, grain: int | None = None) -> None:
        self._bits = bits
        self._depth = depth
        self._grain = bits if grain is None else grain
        super().__init__(
            {
                "write_enable": In(bits // self._grain),
                "write_address": In(clog2(depth)),
                "write_data": In(bits),
                "read_enable": In(1),
                "read_address": In(clog2(depth)),
                "read_data": Out(bits),
            }
        )

    def variant(self) -> str:
        """Bits and depth."""
        return f"{self._bits}x{self._depth}"

    def build(self, m: Module) -> None:
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


class Scratchpad(Block):
    """A memory of `bits`-wide elements that a DMA fills a bank at a time.

    Members
    -------
    write_enable
        One bit per bank.
    write_data
        The same data for every enabled bank.
    read_enable, read_address, read_data
        Read port of whole elements, with a latency of one cycle.
    """

    def __init__(self, *, bits: int, bank_bits: int, depth: int) -> None:
        self._bits = bits
        self._bank_bits = bank_bits
        self._depth = depth
        self.banks = bits // bank_bits
        super().__init__(
            {
                "write_enable": In(self.banks),
                "write_address": In(clog2(depth)),
                "write_data": In(bank_bits),
                "read_enable": In(1),
                "read_address": In(clog2(depth)),
                "read_data": Out(bits),
            }
        )

    def variant(self) -> str:
        """Bits and depth."""
        return f"{self._bits}x{self._depth}"

    def build(self, m: Module) -> None:
        for index in range(self.banks):
            bank = MemoryBank(bits=self._bank_bits, depth=self._depth)
            m.submodules[f"bank_{index}"] = bank
            m.d.comb += [
                bank.write_enable.eq(self.write_enable[index]),
                bank.write_address.eq(self.write_address),
                bank.write_data.eq(self.write_data),
                bank.read_enable.eq(self.read_enable),
                bank.read_address.eq(self.read_address),
                self.read_data.word_select(index, self._bank_bits).eq(bank.read_data),
            ]

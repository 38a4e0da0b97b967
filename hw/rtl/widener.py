"""Widens codes on their way into WGT: table, scale, and the banks that a beat fills."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory
from amaranth.lib.wiring import In, Out

from tandem.hw.codings import TABLE_ENTRIES, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import clog2
from tandem.hw.rtl.load_dma import WritePort
from tandem.hw.rtl.scaled_weight import SCALE_DIGITS, WEIGHT_BITS, ScaledWeight, digits_of
from tandem.hw.topology import MemoryId
from tandem.hw.weight_formats import SCALE_BITS
from tandem.hw.widening import NARROW_ENTRIES, TABLE_READ_PORTS, widening_of

TABLE_WRITE = data.StructLayout({"valid": 1, "index": clog2(TABLE_ENTRIES), "entry": WEIGHT_BITS})
"""A write of one entry of the table."""


class Widener(Block):
    """Writes WGT: beats of int8 weights as they are, beats of codes as what they mean.

    A beat of codes has more weights than a beat of int8, and so fills several banks: up to
    `Widening.word_banks` in one cycle. There is a lane for each weight of such a word. A lane looks
    up its code and has a register; the weights of 4-bit codes are multiplied by their scales behind
    it, and lanes that only shorter codes reach repeat them for the banks of theirs. WGT is written
    a cycle later than other memories: still sooner than any instruction that is given the LOAD's
    tokens can read it.

    Members
    -------
    write
        What the DMA writes, of all memories.
    set_entry
        A write of the table, never while codes come in.
    enable, address, data
        To WGT: the banks to write, of one element; bank i takes part i of `data`, modulo its banks.
    """

    def __init__(self, config: HardwareConfig, memories: tuple[MemoryId, ...]) -> None:
        self._config = config
        self._memories = memories
        self._widening = widening = widening_of(config)
        self._wide = widening.wide_lanes
        super().__init__(
            {
                "write": In(WritePort(config, memories)),
                "set_entry": In(TABLE_WRITE),
                "enable": Out(widening.banks),
                "address": Out(16),
                "data": Out(widening.word_banks * config.bus_bits),
            }
        )

    def build(self, m: Module) -> None:
        write, wide = self.write, self._wide
        plain = write.select[self._memories.index(MemoryId.WGT)]
        coded = write.select[self._memories.index(MemoryId.WGT_CODES)]
        scaled = write.coding == Coding.BITS_4_SCALED
        is_scales = Signal()
        repeats = Signal()
        # Beats of scales have the highest numbers: those of codes are counted from 0.
        m.d.comb += is_scales.eq(coded & scaled & write.bank[-1] & ~write.pad)
        with m.If(write.valid & (plain | coded) & ~is_scales):
            m.d.sync += self.enable.eq(self._banks(m, coded))
        with m.Else():
            m.d.sync += self.enable.eq(0)
        m.d.sync += [
            self.address.eq(write.address),
            repeats.eq(write.pad | ~coded | (write.coding >= Coding.BITS_4)),
        ]
        digits = self._digits(m, is_scales)
        products = self._wide_lanes(m, coded, digits)
        narrow = self._narrow_lanes(m)
        repeated = [Mux(repeats, products[at % wide], narrow[at]) for at in range(len(narrow))]
        m.d.comb += self.data.eq(Cat(products, repeated))

    def _banks(self, m: Module, coded: Value) -> Value:
        """The banks that this beat fills: all of padding, else neighbours from the first on."""
        write, widening = self.write, self._widening
        number_bits, word_bits = clog2(widening.banks), clog2(widening.word_banks)
        first = Signal(number_bits, name="first_bank")
        count = Signal(word_bits + 1, name="filled_banks")
        m.d.comb += [first.eq(write.bank), count.eq(1)]
        with m.If(coded):
            with m.Switch(write.coding):
                for coding in Coding:
                    filled = widening.banks_of_step(coding)
                    word = write.bank
                    if widening.steps(coding) > 1:
                        word = Cat(write.step, write.bank)
                    with m.Case(coding):
                        m.d.comb += [first.eq(word << clog2(filled)), count.eq(filled)]
        words = Signal(widening.banks // widening.word_banks, name="filled_word")
        inside = Signal(widening.word_banks, name="filled_inside")
        upper = first >> word_bits
        m.d.comb += [
            words[at].eq(write.pad | (upper == at) if len(words) > 1 else Const(1))
            for at in range(len(words))
        ]
        for at in range(widening.word_banks):
            # It has the first bank's number, but for the bits below the count.
            found = [
                count[bits] & (first[bits:word_bits] == at >> bits) for bits in range(word_bits)
            ]
            m.d.comb += inside[at].eq(write.pad | Cat(*found, count[word_bits]).any())
        return Cat(inside & word.replicate(len(inside)) for word in words)

    def _digits(self, m: Module, is_scales: Value) -> list[Value]:
        """The scales of the rows that a beat of codes has, or its part of a row, as digits; 1
        without scales."""
        config, write, in_beat = self._config, self.write, self._wide
        kept = Signal(SCALE_BITS * config.block_out, reset_less=True)
        beats = self._widening.scale_beats
        size = min(len(kept), config.bus_bits)
        with m.If(write.valid & is_scales):
            part = kept if beats == 1 else kept.word_select(write.bank[: clog2(beats)], size)
            m.d.sync += part.eq(write.data[:size])
        rows = max(1, in_beat // config.block_in)
        # Several beats share a row that is longer than a beat.
        first = write.bank >> clog2(max(1, config.block_in // in_beat))
        chosen = kept.word_select(first, SCALE_BITS * rows)
        found = []
        for row in range(rows):
            digits = Signal(SCALE_DIGITS, name=f"digits_{row}", reset_less=True)
            m.d.sync += digits.eq(digits_of(Const(1, SCALE_BITS)))
            with m.If(write.coding == Coding.BITS_4_SCALED):
                m.d.sync += digits.eq(digits_of(chosen.word_select(row, SCALE_BITS)))
            found.append(digits)
        return found

    def _wide_lanes(self, m: Module, coded: Value, digits: list[Value]) -> list[Value]:
        """The lanes for codes of all widths and for int8: their weights, multiplied."""
        write = self.write
        plain = Signal(self._config.bus_bits, reset_less=True)
        m.d.sync += plain.eq(Mux(coded | write.pad, 0, write.data))
        reads = self._tables(m, "wide_table", TABLE_ENTRIES, self._wide)
        products = []
        for at in range(self._wide):
            read = reads[at]
            weight = Signal(WEIGHT_BITS, name=f"weight_{at}", reset_less=True)
            m.d.comb += read.addr.eq(self._code(m, at, Coding.BITS_4.bits))
            m.d.sync += weight.eq(Mux(coded & ~write.pad, read.data, 0))
            m.submodules[f"product_{at}"] = product = ScaledWeight()
            m.d.comb += [
                product.weight.eq(weight),
                product.plain.eq(plain.word_select(at % self._config.bus_bytes, WEIGHT_BITS)),
                product.digits.eq(digits[at // self._config.block_in % len(digits)]),
            ]
            products.append(product.product)
        return products

    def _narrow_lanes(self, m: Module) -> list[Value]:
        """The lanes that only codes of 1 and 2 bits reach."""
        count = self._widening.narrow_lanes
        if not count:
            return []
        index_bits = clog2(NARROW_ENTRIES)
        reads = self._tables(m, "narrow_table", NARROW_ENTRIES, count)
        weights = []
        for at in range(self._wide, self._wide + count):
            read = reads[at - self._wide]
            weight = Signal(WEIGHT_BITS, name=f"weight_{at}", reset_less=True)
            m.d.comb += read.addr.eq(self._code(m, at, index_bits))
            m.d.sync += weight.eq(read.data)
            weights.append(weight)
        return weights

    def _tables(self, m: Module, name: str, entries: int, lanes: int) -> list[memory.ReadPort]:
        """A read port for each lane, without a clock, of copies of the first entries of the
        table."""
        ports = []
        index_bits = clog2(entries)
        for copy in range(self._widening.table_copies[entries]):
            table = memory.Memory(shape=WEIGHT_BITS, depth=entries, init=[])
            m.submodules[f"{name}_{copy}"] = table
            write, set_entry = table.write_port(), self.set_entry
            m.d.comb += [
                write.en.eq(set_entry.valid & ~set_entry.index[index_bits:].any()),
                write.addr.eq(set_entry.index),
                write.data.eq(set_entry.entry),
            ]
            count = min(TABLE_READ_PORTS, lanes - copy * TABLE_READ_PORTS)
            ports += [table.read_port(domain="comb") for _ in range(count)]
        return ports

    def _code(self, m: Module, number: int, most: int) -> Value:
        """The code of lane `number` in a beat, where it has at most so many bits."""
        write, widening = self.write, self._widening
        code = Signal(most, name=f"code_{number}")
        with m.Switch(write.coding):
            for coding in Coding:
                bits = coding.bits
                if bits > most or bits * number >= len(write.data):
                    continue
                source = write.data
                if widening.steps(coding) > 1:
                    source = source.word_select(write.step, len(source) // 2)
                with m.Case(coding):
                    m.d.comb += code.eq(source.word_select(number, bits))
        return code

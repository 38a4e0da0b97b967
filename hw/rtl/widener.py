"""Widens codes on their way into WGT: table, scale, and the banks that a beat fills."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from tandem.hw.codings import TABLE_ENTRIES, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.code_lane import ENTRY_BITS, TABLE_WRITE, CodeLane
from tandem.hw.rtl.layouts import clog2
from tandem.hw.rtl.load_dma import WritePort
from tandem.hw.rtl.scaled_weight import ScaledWeight
from tandem.hw.topology import MemoryId
from tandem.hw.weight_formats import SCALE_BITS
from tandem.hw.widening import widening_of

NARROW_ENTRIES = 4
"""Entries that codes of 2 bits reach."""


class Widener(Block):
    """Writes WGT: beats of int8 weights as they are, beats of codes as what they mean.

    A beat of codes has more weights than a beat of int8, and so fills several banks: up to
    `Widening.word_banks` in one cycle. A weight has a register behind the table, and is multiplied
    by its scale on the way to the memory: WGT is written a cycle later than the other memories,
    sooner than any instruction with the LOAD's tokens can read it.

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
        write = self.write
        coded = Signal()
        scaled = Signal()
        plain = write.select[self._memories.index(MemoryId.WGT)]
        m.d.comb += [
            coded.eq(write.select[self._memories.index(MemoryId.WGT_CODES)]),
            scaled.eq(coded & (write.coding == Coding.BITS_4_SCALED)),
        ]
        # Beats of scales have the highest numbers: those of codes are counted from 0.
        is_scales = scaled & write.bank[-1] & ~write.pad
        wide = Signal()
        m.d.sync += [
            self.address.eq(write.address),
            self.enable.eq(
                Mux(write.valid & (plain | coded) & ~is_scales, self._banks(m, coded), 0)
            ),
            wide.eq(coded & ((write.coding == Coding.BITS_4) | scaled)),
        ]
        scales = self._scales(m, is_scales, scaled)

        multiplied = 2 * self._config.bus_bytes
        in_row = self._config.block_in
        weights = [self._lane(m, number, coded) for number in range(self._lanes)]
        found: list[Value] = [
            self._product(m, number, weights[number], scales[number // in_row])
            for number in range(multiplied)
        ]
        found += [
            Mux(wide, found[number % multiplied], weights[number])
            for number in range(multiplied, self._lanes)
        ]
        m.d.comb += self.data.eq(Cat(found))

    @property
    def _lanes(self) -> int:
        return self._widening.word_banks * self._config.bus_bytes

    def _banks(self, m: Module, coded: Value) -> Signal:
        """The banks that this beat fills."""
        write, widening = self.write, self._widening
        banks = Signal(widening.banks, name="banks")
        with m.If(write.pad):
            m.d.comb += banks.eq(-1)
        with m.Elif(coded):
            with m.Switch(write.coding):
                for coding in Coding:
                    filled = widening.banks_of_step(coding)
                    with m.Case(coding):
                        word = write.bank
                        if widening.steps(coding) > 1:
                            word = Cat(write.step, write.bank)
                        for bank in range(widening.banks):
                            m.d.comb += banks[bank].eq(word == bank // filled)
        with m.Else():
            for bank in range(widening.banks):
                m.d.comb += banks[bank].eq(write.bank == bank)
        return banks

    def _scales(self, m: Module, is_scales: Value, scaled: Value) -> list[Value]:
        """The scales of the rows that a beat of codes has, or its part of a row; 1 without."""
        config, write = self._config, self.write
        kept = Signal(SCALE_BITS * config.block_out, reset_less=True)
        beats = self._widening.scale_beats
        size = min(len(kept), config.bus_bits)
        with m.If(write.valid & is_scales):
            part = kept if beats == 1 else kept.word_select(write.bank[: clog2(beats)], size)
            m.d.sync += part.eq(write.data[:size])

        in_beat = 2 * config.bus_bytes
        rows = max(1, in_beat // config.block_in)
        # Beats that share a row, if it is longer than a beat.
        first = write.bank >> clog2(max(1, config.block_in // in_beat))
        now = Signal(SCALE_BITS * rows, name="scales", reset_less=True)
        ones = Cat(Const(1, SCALE_BITS) for _ in range(rows))
        m.d.sync += now.eq(Mux(scaled, kept.word_select(first, SCALE_BITS * rows), ones))
        return [now.word_select(row, SCALE_BITS) for row in range(rows)]

    def _lane(self, m: Module, number: int, coded: Value) -> Value:
        """The register of a weight of the word, by its number."""
        write = self.write
        narrow = number >= 2 * self._config.bus_bytes
        lane = CodeLane(NARROW_ENTRIES if narrow else TABLE_ENTRIES)
        m.submodules[f"lane_{number}"] = lane
        bits = {coding: self._code(coding, number) for coding in Coding}
        with m.Switch(write.coding):
            for coding in Coding:
                with m.Case(coding):
                    code = bits[coding]
                    if coding.bits <= clog2(NARROW_ENTRIES) or not narrow:
                        m.d.comb += lane.code.eq(code)
        byte = number % self._config.bus_bytes
        m.d.comb += [
            lane.set_entry.eq(self.set_entry),
            lane.plain.eq(write.data.word_select(byte, ENTRY_BITS)),
            lane.coded.eq(coded),
            lane.pad.eq(write.pad),
        ]
        return lane.weight

    def _product(self, m: Module, number: int, weight: Value, scale: Value) -> Value:
        """A weight times its scale."""
        m.submodules[f"product_{number}"] = product = ScaledWeight()
        m.d.comb += [product.weight.eq(weight), product.scale.eq(scale)]
        return product.product

    def _code(self, coding: Coding, number: int) -> Value:
        """The code of lane `number` in a beat."""
        write, bits = self.write, coding.bits
        if self._widening.steps(coding) > 1:
            half = write.data.word_select(write.step, len(write.data) // 2)
            return half.word_select(number, bits)
        if bits * number >= len(write.data):
            return Const(0, bits)
        return write.data.word_select(number, bits)

"""Reads OUT for a STORE and packs its elements into beats of write data."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import memory_layout
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.element_locator import ElementLocator
from tandem.hw.rtl.layouts import clog2, row_bits, rows_layout, strobed_layout, view_of
from tandem.hw.timing import OUT_QUEUE_BEATS
from tandem.hw.topology import MemoryId


class OutPacker(Block):
    """Makes the beats of a STORE: one a cycle of wide elements, one narrow element a cycle.

    Members
    -------
    start, word, rows
        A new STORE with data: the instruction, and its rows in DRAM. Not while `active`.
    out_enable, out_address, out_data
        Read port of OUT, with a latency of one cycle.
    beat, waiting
        The beats to write, in order, and how many of them wait; see `OrderPort`. Each row begins a
        new beat.
    active
        Elements of the STORE are still to be read.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "word": In(view_of(memory_layout(config))),
                "rows": In(rows_layout(config.address_bits, row_bits(config))),
                "out_enable": Out(1),
                "out_address": Out(config.index_bits(MemoryId.OUT)),
                "out_data": In(8 * config.acc_lanes),
                "beat": Out(stream.Signature(strobed_layout(config), always_ready=True)),
                "waiting": In(range(OUT_QUEUE_BEATS + 1)),
                "active": Out(1),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        m.submodules.locator = locator = ElementLocator(config, (MemoryId.OUT,))

        # Two stages: an element is addressed, and a cycle later its data is packed into a beat.
        # An element is addressed while fewer than OUT_QUEUE_BEATS beats are complete.
        element = Signal(config.index_bits(MemoryId.OUT), reset_less=True)
        x_size = Signal(16, reset_less=True)
        x_left = Signal(16, reset_less=True)
        y_left = Signal(16, reset_less=True)
        packing = Signal()
        completing = Signal()
        advance = Signal()
        row_ends = Signal()
        m.d.comb += [
            advance.eq(self.active & (self.waiting + completing < OUT_QUEUE_BEATS)),
            row_ends.eq(x_left == 1),
            self.out_enable.eq(advance),
            self.out_address.eq(element),
            locator.start.eq(self.start),
            locator.address.eq(self.rows.address),
            locator.stride.eq(self.rows.stride),
            locator.select.eq(1),
            locator.advance.eq(advance),
            locator.row_ends.eq(row_ends),
        ]
        with m.If(advance & locator.element_ends):
            m.d.sync += [element.eq(element + 1), x_left.eq(x_left - 1)]
            with m.If(row_ends):
                m.d.sync += [x_left.eq(x_size), y_left.eq(y_left - 1)]
                with m.If(y_left == 1):
                    m.d.sync += self.active.eq(0)
        with m.If(self.start):
            m.d.sync += [
                self.active.eq(1),
                element.eq(self.word.sram_base),
                x_size.eq(self.word.x_size),
                x_left.eq(self.word.x_size),
                y_left.eq(self.word.y_size),
            ]
        m.d.sync += packing.eq(advance)
        m.d.comb += self.beat.valid.eq(completing)
        if config.acc_lanes >= config.bus_bytes:
            m.d.comb += completing.eq(packing)
            self._take_bank(m, locator)
        else:
            complete = self._gather(m, locator, packing, advance)
            m.d.comb += completing.eq(packing & complete)

    def _take_bank(self, m: Module, locator: ElementLocator) -> None:
        """Pack elements as wide as a beat or wider: each bank of an element is a beat."""
        bank = Signal.like(locator.bank, reset_less=True)
        m.d.sync += bank.eq(locator.bank)
        m.d.comb += [
            self.beat.payload.data.eq(self.out_data.word_select(bank, self._config.bus_bits)),
            self.beat.payload.strobe.eq(~0),
        ]

    def _gather(
        self, m: Module, locator: ElementLocator, packing: Signal, advance: Signal
    ) -> Signal:
        """Pack elements narrower than a beat, until the beat is full or the row ends.

        Returns whether the element that is packed completes its beat.
        """
        size = self._config.acc_lanes
        slot = Signal(range(self._config.bus_bytes // size), reset_less=True)
        complete = Signal(reset_less=True)
        kept = Signal(strobed_layout(self._config))
        merged = Signal(strobed_layout(self._config))
        with m.If(advance):
            m.d.sync += [slot.eq(locator.offset >> clog2(size)), complete.eq(locator.beat_ends)]
        m.d.comb += merged.eq(kept)
        with m.Switch(slot):
            for index in range(self._config.bus_bytes // size):
                with m.Case(index):
                    m.d.comb += [
                        merged.data.word_select(index, 8 * size).eq(self.out_data),
                        merged.strobe.word_select(index, size).eq(~0),
                    ]
        m.d.comb += self.beat.payload.eq(merged)
        with m.If(packing):
            m.d.sync += kept.eq(Mux(complete, 0, merged))
        return complete

"""Splits rows of DRAM into AXI bursts: the address generator of every DMA."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import burst_layout, clog2, rows_layout
from tandem.hw.storage import BEATS_BITS


class BurstGenerator(Block):
    """Generates one burst a cycle; the bursts of a row depend on address and length alone.

    A burst never spans two rows, never crosses a 4 KiB boundary (AMBA AXI4, A3.4.1), and is at
    most `longest` beats. Addresses are aligned down to a beat: a row that begins or ends inside a
    beat takes the whole beat.

    Members
    -------
    start, rows
        Take a new job. Must not be given while `active`. The first burst is offered two cycles
        later.
    burst
        The bursts, in order.
    last
        The burst offered is the job's last.
    active
        Bursts of the job are still to come.
    """

    def __init__(self, config: HardwareConfig, *, longest: int, size_bits: int) -> None:
        self._bus_bytes = config.bus_bytes
        self._longest = longest
        self._rows = rows_layout(config.address_bits, size_bits)
        super().__init__(
            {
                "start": In(1),
                "rows": In(self._rows),
                "burst": Out(stream.Signature(burst_layout(config))),
                "last": Out(1),
                "active": Out(1),
            }
        )

    def variant(self) -> str:
        """Module suffix: longest burst, and bits of a row's size."""
        return f"{self._longest}x{self._rows['size'].width}"

    def build(self, m: Module) -> None:
        beat_bits = clog2(self._bus_bytes)
        page_beats = PAGE_BYTES // self._bus_bytes
        size_bits = self._rows["size"].width

        # `job.address` is the address of the next row. An offer's length is computed when the offer
        # before it is taken, so that arbiters see registers.
        job = Signal(self._rows, reset_less=True)
        extra = Signal(signed(2), reset_less=True)
        setup = Signal()
        running = Signal()
        # The offer; a beat's number is its byte address divided by the bytes in a beat.
        beat = Signal(self._rows["address"].width - beat_bits, reset_less=True)
        beats = Signal(BEATS_BITS, reset_less=True)
        row_ends = Signal(reset_less=True)
        # What follows the offer in its row: its beats, less one, and where in a page it begins.
        rest = Signal(size_bits + 1 - beat_bits, reset_less=True)
        place = Signal(clog2(page_beats), reset_less=True)

        new_row = Signal()
        first = Signal.like(beat)
        remaining = Signal.like(rest)
        in_page = Signal.like(place)
        taken = Signal()
        m.d.comb += [
            new_row.eq(setup | row_ends),
            first.eq(Mux(new_row, job.address >> beat_bits, beat + beats)),
            remaining.eq(Mux(new_row, (job.size >> beat_bits) + extra, rest)),
            in_page.eq(Mux(new_row, job.address >> beat_bits, place)),
            taken.eq(self.burst.valid & self.burst.ready),
            self.burst.valid.eq(running),
            self.burst.payload.address.eq(beat << beat_bits),
            self.burst.payload.beats.eq(beats),
            self.last.eq(row_ends & (job.rows == 1)),
            self.active.eq(setup | running),
        ]

        # Side by side, as each is a chain of carries: a burst ends with its row, with its page, or
        # is the longest.
        fits_page = in_page + remaining[:BEATS_BITS] < page_beats
        ends = (remaining < self._longest) & fits_page
        page_ends = in_page + self._longest > page_beats
        with m.If(self.start):
            m.d.sync += [job.eq(self.rows), setup.eq(1)]
            m.d.sync += extra.eq(self._extra_beats(self.rows.address, self.rows.size))
        with m.If(setup):
            m.d.sync += [setup.eq(0), running.eq(1)]
        with m.If(setup | taken):
            m.d.sync += [beat.eq(first), row_ends.eq(ends)]
            with m.If(ends):
                m.d.sync += beats.eq(remaining + 1)
            with m.Elif(page_ends):
                m.d.sync += beats.eq(page_beats - in_page)
            with m.Else():
                m.d.sync += beats.eq(self._longest)
            with m.If(page_ends):
                m.d.sync += [rest.eq(remaining + in_page - page_beats), place.eq(0)]
            with m.Else():
                m.d.sync += [rest.eq(remaining - self._longest), place.eq(in_page + self._longest)]
            with m.If(new_row):
                next_address = job.address + job.stride
                m.d.sync += job.address.eq(next_address)
                m.d.sync += extra.eq(self._extra_beats(next_address, job.size))
        with m.If(taken & row_ends):
            m.d.sync += [running.eq(~self.last), job.rows.eq(job.rows - 1)]

    def _extra_beats(self, address: Value, size: Value) -> Value:
        """How many beats follow the first of a row, above the whole beats in its size: -1 to 1.

        The row is the `size` bytes from `address` on.
        """
        beat_bits = clog2(self._bus_bytes)
        ends = address[:beat_bits] + size[:beat_bits] + (self._bus_bytes - 1)
        return (ends >> beat_bits) - 1

"""Splits rows of DRAM into AXI bursts: the address generator of every DMA."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hw.config import PAGE_BYTES, HardwareConfig
from hw.rtl.block import Block
from hw.rtl.layouts import BEATS_BITS, burst_layout, clog2, rows_layout


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

        # `job.address` and `row_beats` are the address and the length of the next row. An offer's
        # length is computed when the offer before it is taken, so that arbiters see registers.
        job = Signal(self._rows, reset_less=True)
        row_beats = Signal(size_bits + 1 - beat_bits, reset_less=True)
        setup = Signal()
        running = Signal()
        # The offer, its first beat as the byte address divided by the bytes in a beat.
        beat = Signal(self._rows["address"].width - beat_bits, reset_less=True)
        beats = Signal(BEATS_BITS, reset_less=True)
        row_ends = Signal(reset_less=True)
        # What follows the offer in its row: its beats, those of them in the first page, and the
        # longest burst that may follow.
        rest = Signal.like(row_beats, reset_less=True)
        page_rest = Signal(range(page_beats + 1), reset_less=True)
        limit = Signal(BEATS_BITS, reset_less=True)

        def shorter(to_page: Value) -> Value:
            """The longest burst `to_page` beats before the end of a page."""
            return Mux(to_page < self._longest, to_page, self._longest)[:BEATS_BITS]

        def offer(first: Value, total: Value, to_page: Value, most: Value) -> list[Any]:
            """Offer the first burst, `most` beats at most, of the `total` beats from `first` on."""
            ends = total <= most
            page_ends = to_page <= self._longest
            behind = Mux(page_ends, page_beats, to_page - self._longest)
            return [
                beat.eq(first),
                beats.eq(Mux(ends, total, most)),
                row_ends.eq(ends),
                rest.eq(total - most),
                page_rest.eq(behind),
                limit.eq(shorter(behind)),
            ]

        new_row = Signal()
        to_page = Signal(range(page_beats + 1))
        taken = Signal()
        m.d.comb += [
            new_row.eq(setup | row_ends),
            to_page.eq(page_beats - job.address[beat_bits:][: clog2(page_beats)]),
            taken.eq(self.burst.valid & self.burst.ready),
            self.burst.valid.eq(running),
            self.burst.payload.address.eq(beat << beat_bits),
            self.burst.payload.beats.eq(beats),
            self.last.eq(row_ends & (job.rows == 1)),
            self.active.eq(setup | running),
        ]

        with m.If(self.start):
            m.d.sync += [job.eq(self.rows), setup.eq(1)]
            m.d.sync += row_beats.eq(self._beats_in_row(self.rows.address, self.rows.size))
        with m.If(setup):
            m.d.sync += [setup.eq(0), running.eq(1)]
        with m.If(setup | taken):
            with m.If(new_row):
                next_address = job.address + job.stride
                m.d.sync += offer(job.address >> beat_bits, row_beats, to_page, shorter(to_page))
                m.d.sync += job.address.eq(next_address)
                m.d.sync += row_beats.eq(self._beats_in_row(next_address, job.size))
            with m.Else():
                m.d.sync += offer(beat + beats, rest, page_rest, limit)
        with m.If(taken & row_ends):
            m.d.sync += [running.eq(~self.last), job.rows.eq(job.rows - 1)]

    def _beats_in_row(self, address: Value, size: Value) -> Value:
        """Beats of the `size` bytes from `address` on: whole ones, and 0 to 2 for what is left."""
        beat_bits = clog2(self._bus_bytes)
        ends = address[:beat_bits] + size[:beat_bits] + (self._bus_bytes - 1)
        return (size >> beat_bits) + (ends >> beat_bits)

"""Splits rows of DRAM into AXI bursts: the address generator of every DMA."""

from __future__ import annotations

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

        # `job.address` is the address of the next row. An offer's length is computed when the offer
        # before it is taken, so that arbiters see registers.
        job = Signal(self._rows, reset_less=True)
        setup = Signal()
        running = Signal()
        # A beat's number is its byte address divided by the bytes in a beat.
        beat = Signal(self._rows["address"].width - beat_bits, reset_less=True)
        left = Signal(size_bits + 1 - beat_bits, reset_less=True)
        beats = Signal(BEATS_BITS, reset_less=True)
        row_ends = Signal(reset_less=True)

        def beats_in_row(address: Value) -> Value:
            # Whole beats, and those of the bytes that remain before and behind them: 0, 1 or 2.
            ends = address[:beat_bits] + job.size[:beat_bits] + (self._bus_bytes - 1)
            return (job.size >> beat_bits) + (ends >> beat_bits)

        new_row = Signal()
        next_beat = Signal.like(beat)
        next_left = Signal.like(left)
        to_page = Signal(range(page_beats + 1))
        allowed = Signal(BEATS_BITS)
        ends = Signal()
        taken = Signal()
        m.d.comb += [
            new_row.eq(setup | row_ends),
            next_beat.eq(Mux(new_row, job.address >> beat_bits, beat + beats)),
            next_left.eq(Mux(new_row, beats_in_row(job.address), left - beats)),
            to_page.eq(page_beats - next_beat[: clog2(page_beats)]),
            allowed.eq(Mux(to_page < self._longest, to_page, self._longest)),
            ends.eq(next_left <= allowed),
            taken.eq(self.burst.valid & self.burst.ready),
            self.burst.valid.eq(running),
            self.burst.payload.address.eq(beat << beat_bits),
            self.burst.payload.beats.eq(beats),
            self.last.eq(row_ends & (job.rows == 1)),
            self.active.eq(setup | running),
        ]

        with m.If(self.start):
            m.d.sync += [job.eq(self.rows), setup.eq(1)]
        with m.If(setup):
            m.d.sync += [setup.eq(0), running.eq(1)]
        with m.If(setup | taken):
            m.d.sync += [
                beat.eq(next_beat),
                left.eq(next_left),
                beats.eq(Mux(ends, next_left, allowed)),
                row_ends.eq(ends),
            ]
            with m.If(new_row):
                m.d.sync += job.address.eq(job.address + job.stride)
        with m.If(taken & row_ends):
            m.d.sync += [running.eq(~self.last), job.rows.eq(job.rows - 1)]

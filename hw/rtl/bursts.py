"""Splits rows of DRAM into AXI bursts: the address generator of every DMA."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
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
    begins, minus_beats
        In the next cycle a burst is offered that is not offered yet. It has `-minus_beats` beats;
        what follows the burst offered now does not depend on `burst.ready`.
    """

    def __init__(self, config: HardwareConfig, *, longest: int, size_bits: int) -> None:
        self._bus_bytes = config.bus_bytes
        self._longest = longest
        # A page may hold fewer beats than the longest burst.
        self._most = min(longest, PAGE_BYTES // config.bus_bytes)
        self._rows = rows_layout(config.address_bits, size_bits)
        super().__init__(
            {
                "start": In(1),
                "rows": In(self._rows),
                "burst": Out(stream.Signature(burst_layout(config))),
                "last": Out(1),
                "active": Out(1),
                "begins": Out(1),
                "minus_beats": Out(signed(clog2(self._most) + 1)),
            }
        )

    def variant(self) -> str:
        """Module suffix: longest burst, and bits of a row's size."""
        return f"{self._longest}x{self._rows['size'].width}"

    def build(self, m: Module) -> None:
        beat_bits = clog2(self._bus_bytes)
        page_beats = PAGE_BYTES // self._bus_bytes
        size_bits = self._rows["size"].width

        # `job.address` is the next row's address, `whole` its beats, less one. An offer's length is
        # found when the offer before it is taken, so that arbiters see registers.
        job = Signal(self._rows, reset_less=True)
        whole = Signal(size_bits + 1 - beat_bits, reset_less=True)
        setup = Signal()
        running = Signal()
        # The offer; a beat's number is its byte address divided by the bytes in a beat.
        beat = Signal(self._rows["address"].width - beat_bits, reset_less=True)
        beats = Signal(BEATS_BITS, reset_less=True)
        # The next offer begins a row; so does the first of all.
        row_ends = Signal(reset_less=True)
        # What follows the offer in its row: its beats, less one, and where in a page it begins.
        rest = Signal.like(whole)
        place = Signal(clog2(page_beats), reset_less=True)

        first = Signal.like(beat)
        remaining = Signal.like(rest)
        in_page = Signal.like(place)
        taken = Signal()
        m.d.comb += [
            first.eq(Mux(row_ends, job.address >> beat_bits, beat + beats)),
            remaining.eq(Mux(row_ends, whole, rest)),
            in_page.eq(Mux(row_ends, job.address >> beat_bits, place)),
            taken.eq(self.burst.valid & self.burst.ready),
            self.burst.valid.eq(running),
            self.burst.payload.address.eq(beat << beat_bits),
            self.burst.payload.beats.eq(beats),
            self.last.eq(row_ends & (job.rows == 1)),
            self.active.eq(setup | running),
            self.begins.eq(setup | (taken & ~self.last)),
        ]

        # Side by side, as each is a chain of carries: a burst ends with its row, with its page, or
        # is the longest. Its negative length is ones above the few bits that tell.
        most = self._most
        bits = clog2(most)
        low = remaining[:bits]
        ends = (remaining < most) & (in_page + low < page_beats)
        page_ends = in_page > page_beats - most
        minus = Mux(ends, ~low, Mux(page_ends, in_page[:bits], (1 << bits) - most))[:bits]
        m.d.comb += self.minus_beats.eq(Cat(minus, Const(1)).as_signed())
        next_address = job.address + job.stride
        # One adder for the first row and for those behind it.
        next_whole = self._beats_less_one(
            Mux(self.active, next_address, self.rows.address),
            Mux(self.active, job.size, self.rows.size),
        )
        with m.If(self.start):
            m.d.sync += [job.eq(self.rows), setup.eq(1), row_ends.eq(1), whole.eq(next_whole)]
        with m.If(setup):
            m.d.sync += [setup.eq(0), running.eq(1)]
        with m.If(setup | taken):
            m.d.sync += [beat.eq(first), beats.eq(-self.minus_beats), row_ends.eq(ends)]
            with m.If(page_ends):
                m.d.sync += [rest.eq(remaining + in_page - page_beats), place.eq(0)]
            with m.Else():
                m.d.sync += [rest.eq(remaining - most), place.eq(in_page + most)]
            with m.If(row_ends):
                m.d.sync += [job.address.eq(next_address), whole.eq(next_whole)]
        with m.If(taken & row_ends):
            m.d.sync += [running.eq(~self.last), job.rows.eq(job.rows - 1)]

    def _beats_less_one(self, address: Value, size: Value) -> Value:
        """How many beats a row has, less one: the `size` bytes from `address` on."""
        beat_bits = clog2(self._bus_bytes)
        ends = address[:beat_bits] + size[:beat_bits] + (self._bus_bytes - 1)
        # One chain of carries: -1 to 1 beats more than the whole ones in the size.
        extra = ((ends >> beat_bits) - 1)[:2].as_signed()
        return (size >> beat_bits) + extra

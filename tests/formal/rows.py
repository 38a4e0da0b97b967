"""What bursts must be, from the rows that they are to cover: for whoever cuts rows into bursts."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.rtl.layouts import clog2, rows_layout
from tandem.hw.storage import BEATS_BITS
from tests.formal.harness import Harness, implies


class Rows:
    """A job: rows of at least one byte, at least one of them, given when there is no other.

    Attributes
    ----------
    open
        There are bursts to come.
    starting
        The cycle between a start and its first burst.
    row, rows
        The current row's address; how many rows there are with it.
    address, remains
        Where the next burst begins, and the bytes from there to the end of its row's last beat.
        A row may go beyond the last address; so may `address`, which does not wrap.
    bytes
        What the burst offered now covers.
    row_ends
        It is its row's last.
    beats
        How long the next burst must be: as long as row, page and the longest burst allow.
    """

    def __init__(
        self, harness: Harness, dut: Any, burst: Any, config: HardwareConfig, longest: int
    ) -> None:
        """`dut` has `start` and `rows`; it offers its bursts in the stream `burst`."""
        layout = dut.rows.shape()
        self.config = config
        self.longest = longest
        self.burst = burst
        wide = max(config.address_bits, layout["size"].width) + 2
        self._beat_bits = clog2(config.bus_bytes)
        self.open = Signal()
        self.address = Signal(wide)
        self.row = Signal(config.address_bits)
        self.rows = Signal(16)
        self.job = Signal(layout)
        self.starting = harness.delayed(dut.start)
        self.remains = Signal(wide)
        self.bytes = burst.payload.beats << self._beat_bits
        self.row_ends = self.remains == self.bytes
        last_byte = self.row + self.job.size - 1
        harness.comb(self.remains.eq(self.down(last_byte) + config.bus_bytes - self.address))
        self.beats = Signal(BEATS_BITS)
        harness.comb(self.beats.eq(self._longest_allowed()))
        harness.suppose(implies(dut.start, ~self.open))
        harness.suppose(implies(dut.start, (dut.rows.size != 0) & (dut.rows.rows != 0)))
        self._advance(harness.module, dut)

    def down(self, address: Any) -> Any:
        """The address of the beat in which a byte lies."""
        return (address >> self._beat_bits) << self._beat_bits

    def _longest_allowed(self) -> Any:
        left = self.remains >> self._beat_bits
        page = (PAGE_BYTES - self.address % PAGE_BYTES) >> self._beat_bits
        allowed = Mux(page < self.longest, page, self.longest)
        return Mux(left < allowed, left, allowed)

    def _advance(self, m: Module, dut: Any) -> None:
        with m.If(dut.start):
            m.d.sync += [
                self.open.eq(1),
                self.job.eq(dut.rows),
                self.row.eq(dut.rows.address),
                self.rows.eq(dut.rows.rows),
                self.address.eq(self.down(dut.rows.address)),
            ]
        with m.Elif(self.burst.valid & self.burst.ready):
            m.d.sync += self.address.eq(self.address + self.bytes)
            with m.If(self.row_ends):
                following = (self.row + self.job.stride)[: len(self.row)]
                m.d.sync += [
                    self.open.eq(self.rows != 1),
                    self.row.eq(following),
                    self.rows.eq(self.rows - 1),
                    self.address.eq(self.down(following)),
                ]


def claim_bursts(harness: Harness, rows: Rows) -> None:
    """Each burst keeps to AXI4, and together they are the job."""
    burst = rows.burst.payload

    def offered(name: str, condition: Any) -> None:
        harness.must(name, implies(rows.burst.valid, condition))

    place = rows.address[: rows.config.address_bits]
    offered("has_beats", burst.beats != 0)
    offered("not_too_long", burst.beats <= rows.longest)
    offered("aligned_to_a_beat", burst.address % rows.config.bus_bytes == 0)
    offered("within_a_page", burst.address % PAGE_BYTES + rows.bytes <= PAGE_BYTES)
    offered("begins_where_the_last_ended", burst.address == place)
    offered("within_the_row", rows.bytes <= rows.remains)
    offered("no_shorter_than_it_must_be", burst.beats == rows.beats)


def look_inside(harness: Harness, rows: Rows, path: str) -> None:
    """What the `BurstGenerator` at `path` remembers, in terms of its rows."""
    config = rows.config
    beat_bits = clog2(config.bus_bytes)
    size_bits = rows.job.shape()["size"].width
    layout = rows_layout(config.address_bits, size_bits)
    job = data.View(layout, harness.peek(f"{path}.job", layout.size))
    page_beats = PAGE_BYTES // config.bus_bytes
    extra = harness.peek(f"{path}.extra", 2).as_signed()
    rest = harness.peek(f"{path}.rest", size_bits + 1 - beat_bits)
    in_page = harness.peek(f"{path}.place", clog2(page_beats))
    beat = harness.peek(f"{path}.beat", config.address_bits - beat_bits)
    beats = harness.peek(f"{path}.beats", BEATS_BITS)
    row_ends = harness.peek(f"{path}.row_ends", 1)
    begins = harness.peek(f"{path}.setup", 1)
    runs = harness.peek(f"{path}.running", 1)

    def while_open(name: str, condition: Any) -> None:
        harness.invariant(name, implies(rows.open, condition))

    def while_running(name: str, condition: Any) -> None:
        harness.invariant(name, implies(runs, condition))

    one_row = (rows.job.size + 2 * config.bus_bytes - 2) >> beat_bits << beat_bits
    place = rows.address[: config.address_bits]
    harness.invariant("starting", begins == rows.starting)
    harness.invariant("begins_or_runs", ~(begins & runs) & (rows.open == (begins | runs)))
    following = (rows.row + rows.job.stride)[: config.address_bits]
    while_open("knows_the_next_row", job.address == Mux(begins, rows.row, following))
    while_open("remembers_the_rows", job.rows == rows.rows)
    while_open("remembers_the_size", job.size == rows.job.size)
    while_open("remembers_the_stride", job.stride == rows.job.stride)
    while_open("a_job_is_of_something", (rows.job.size != 0) & (rows.rows != 0))
    while_open("remains_are_of_a_row", (rows.remains != 0) & (rows.remains <= one_row))
    while_running("beat_is_next", Value.cast(beat) << beat_bits == place)
    next_row = job.address
    bytes_of_row = rows.down(next_row + rows.job.size - 1) + config.bus_bytes - rows.down(next_row)
    beats_of_row = (rows.job.size >> beat_bits) + extra + 1
    while_open("knows_the_next_row's_beats", beats_of_row << beat_bits == bytes_of_row)
    # Behind the offer, if its row goes on: what remains, and where in its page that begins.
    goes_on = runs & ~rows.row_ends
    behind = (rows.address + rows.bytes) % PAGE_BYTES

    def while_going_on(name: str, condition: Any) -> None:
        harness.invariant(name, implies(goes_on, condition))

    while_going_on("rest_remains", ((rest + 1) << beat_bits) + rows.bytes == rows.remains)
    while_going_on("knows_the_place", in_page == behind >> beat_bits)
    while_running("beats_are_the_offer's", beats == rows.beats)
    while_running("knows_the_row's_last", row_ends == rows.row_ends)
    harness.invariant("first_row", implies(begins, rows.address == rows.down(rows.row)))

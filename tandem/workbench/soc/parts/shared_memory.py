"""Memory on chip that an accelerator and a processor share.

The accelerator has an AXI4 port that takes a beat each cycle, reads and writes at once; its timing
is `hw.memory_model.MemoryModel` with an interval of 1. The processor has a Wishbone port, and the
cycles that the accelerator leaves. One read and one write port are what a block RAM has. The blocks
lie all over a chip: what they are told comes from registers, and what is read goes into a register
or a queue first.
"""

from __future__ import annotations

from typing import Any

from litex.gen import LiteXModule
from litex.soc.interconnect import axi, stream, wishbone
from migen import READ_FIRST, Case, Cat, If, Memory, Mux, Replicate, Signal

from tandem.workbench.errors import SocError
from tandem.workbench.soc.description import LEAST_LATENCY

_DECERR = 3
_READ = 8
"""Beats that were asked for and not taken yet; 4 are on their way when one is taken every cycle."""
_NEXT_ADDRESS = 0b010
"""Wishbone's `cti` while a burst goes on."""


class SharedMemory(LiteXModule):
    """A memory of `bytes`, at `origin`, a multiple of the next power of two.

    Attributes
    ----------
    arrays
        The one array of beats.
    axi
        The accelerator's port, a slave; bursts of addresses that rise, of whole beats.
    bus
        The processor's port, Wishbone of 32 bits.
    """

    def __init__(
        self, origin: int, bytes: int, data_width: int, id_width: int, latency: int, in_flight: int
    ) -> None:
        """A memory as wide as the accelerator's bus.

        Parameters
        ----------
        latency
            Cycles from a read's address to its first beat, and from a write's last beat to its
            acknowledgement; `LEAST_LATENCY` or more.
        in_flight
            Bursts of each direction that are accepted and not answered.

        Raises
        ------
        SocError
            The latency is too short.
        """
        if latency < LEAST_LATENCY:
            raise SocError(
                f"shared memory of latency {latency}: memory on chip has {LEAST_LATENCY} or more"
            )
        self.axi = axi.AXIInterface(
            data_width=data_width, address_width=32, id_width=id_width, bursting=True
        )
        self.bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        beat = data_width // 8
        self._beat_bits, self._size_bits = (beat - 1).bit_length(), (bytes - 1).bit_length()
        self._origin, self._bytes, self._id_width = origin, bytes, id_width
        self._latency, self._in_flight = latency, in_flight
        # The contents come in place of this file, so that the hardware stays the same.
        memory = Memory(data_width, bytes // beat, init=[0])
        # LiteX would make registers of an attribute that is a memory.
        self.arrays = (memory,)
        self.specials += memory
        self.read_port = memory.get_port(has_re=True, mode=READ_FIRST)
        self.write_port = memory.get_port(write_capable=True, we_granularity=8, mode=READ_FIRST)
        self.specials += self.read_port, self.write_port
        self._words = data_width // 32
        self._processor_reads(*self._reads())
        self._processor_writes(*self._writes())

    def _index(self, address: Any) -> Any:
        return address[self._beat_bits : self._size_bits]

    def _inside(self, address: Any) -> Any:
        inside = address[self._size_bits :] == self._origin >> self._size_bits
        if self._bytes == 1 << self._size_bits:
            return inside
        return inside & (self._index(address) < self._bytes >> self._beat_bits)

    def _addresses(self, channel: Any, done: Any) -> Any:
        """The queue of an address channel, which holds bursts until they are `done`."""
        layout = [("addr", 32), ("len", 8), ("id", self._id_width)]
        queue = stream.SyncFIFO(layout, self._in_flight)
        self.submodules += queue
        accepted = Signal()
        count = self._counter(accepted, done, self._in_flight)
        self.comb += [
            channel.ready.eq(count != self._in_flight),
            accepted.eq(channel.valid & channel.ready),
            queue.sink.valid.eq(accepted),
            queue.sink.addr.eq(channel.addr),
            queue.sink.len.eq(channel.len),
            queue.sink.id.eq(channel.id),
        ]
        return queue.source, accepted

    def _counter(self, up: Any, down: Any, most: int) -> Any:
        count = Signal(max=most + 1)
        self.sync += count.eq(count + up - down)
        return count

    def _later(self, value: Any, cycles: int) -> Any:
        for _ in range(cycles):
            after = Signal.like(value)
            self.sync += after.eq(value)
            value = after
        return value

    def _reads(self) -> tuple[Any, Any]:
        """The read channels. Returns whether the accelerator reads in this cycle, and where."""
        bus, answered, started, last = self.axi, Signal(), Signal(), Signal()
        taken, inside, asked, loaded = Signal(), Signal(), Signal(), Signal()
        layout = [("data", len(bus.r.data)), ("id", self._id_width), ("inside", 1)]
        found, taker = stream.SyncFIFO(layout, _READ), stream.Buffer(layout)
        self.submodules += found, taker
        beats = self._counter(started, taken, _READ)
        head, accepted = self._addresses(bus.ar, answered)
        ready = self._counter(
            self._later(accepted, self._latency - LEAST_LATENCY), started & last, self._in_flight
        )
        offset, address = Signal(8), Signal(32)
        self.comb += [
            taken.eq(bus.r.valid & bus.r.ready),
            answered.eq(taken & bus.r.last),
            address.eq(head.addr + (offset << self._beat_bits)),
            inside.eq(self._inside(address)),
            started.eq((ready != 0) & (beats != _READ)),
            last.eq(offset == head.len),
            head.ready.eq(started & last),
            found.sink.valid.eq(loaded),
            found.sink.data.eq(self.read_port.dat_r),
            found.source.connect(taker.sink),
            bus.r.valid.eq(taker.source.valid),
            taker.source.ready.eq(bus.r.ready),
            bus.r.data.eq(taker.source.data),
            bus.r.last.eq(taker.source.last),
            bus.r.id.eq(taker.source.id),
            bus.r.resp.eq(Mux(taker.source.inside, 0, _DECERR)),
        ]
        self.sync += [
            If(started, offset.eq(Mux(last, 0, offset + 1))),
            asked.eq(started),
            loaded.eq(asked),
            found.sink.last.eq(self._later(last, 1)),
            found.sink.id.eq(self._later(head.id, 1)),
            found.sink.inside.eq(self._later(inside, 1)),
        ]
        return started, self._index(address)

    def _writes(self) -> tuple[Any, Any, Any, Any]:
        """The write channels. Returns whether, where, what and which bytes the accelerator writes
        in this cycle."""
        bus, taken, acknowledged, offset = self.axi, Signal(), Signal(), Signal(8)
        head, _ = self._addresses(bus.aw, acknowledged)
        answers = stream.SyncFIFO([("id", self._id_width), ("error", 1)], self._in_flight)
        self.submodules += answers
        address, ends, failed, inside = Signal(32), Signal(), Signal(), Signal()
        ready = self._counter(self._later(ends, self._latency - 1), acknowledged, self._in_flight)
        self.comb += [
            bus.w.ready.eq(head.valid),
            taken.eq(bus.w.valid & bus.w.ready),
            address.eq(head.addr + (offset << self._beat_bits)),
            inside.eq(self._inside(address)),
            ends.eq(taken & (offset == head.len)),
            head.ready.eq(ends),
            answers.sink.valid.eq(ends),
            answers.sink.id.eq(head.id),
            answers.sink.error.eq(failed | ~inside),
            bus.b.valid.eq(ready != 0),
            bus.b.id.eq(answers.source.id),
            bus.b.resp.eq(Mux(answers.source.error, _DECERR, 0)),
            acknowledged.eq(bus.b.valid & bus.b.ready),
            answers.source.ready.eq(acknowledged),
        ]
        self.sync += If(
            taken,
            If(ends, offset.eq(0), failed.eq(0)).Else(
                offset.eq(offset + 1), failed.eq(failed | ~inside)
            ),
        )
        strobes = Mux(inside, bus.w.strb, 0)
        return taken, self._index(address), bus.w.data, strobes

    def _processor_reads(self, started: Any, started_index: Any) -> None:
        """Reads at the Wishbone port, in cycles that the accelerator leaves: a word, or in a burst
        the words behind it, too, one a cycle where the next beat comes in time.

        An acknowledgement comes from a register alone: a master keeps an access until then, so
        that there is none without. With the address, which says that this slave is meant, the path
        would go from a processor's cache over the bus to that cache's own enable.
        """
        bus, words = self.bus, self._words
        reading, goes_on, ahead, reads, taken = Signal(), Signal(), Signal(), Signal(), Signal()
        asked, loaded, held = Signal(), Signal(), Signal()
        beat, word = Signal(32 * words), Signal(max=max(words, 2))
        index, lane = self._place(bus.adr)
        next_index, chosen = Signal.like(index), Signal.like(index)
        # A beat that is asked for then comes when the last word of the one before is taken.
        early = {1: asked, 2: loaded}.get(words, taken & (word == words - 3))
        self.comb += [
            reading.eq(bus.cyc & bus.stb & ~bus.we),
            goes_on.eq(reading & (bus.cti == _NEXT_ADDRESS) & (bus.bte == 0)),
            taken.eq(reading & held),
            ahead.eq(goes_on & early),
            reads.eq((ahead | (reading & ~held & ~asked & ~loaded)) & ~started),
            chosen.eq(Mux(ahead, next_index, index)),
            If(held, bus.ack.eq(1)),
            Case(
                word,
                {
                    number: bus.dat_r.eq(beat[32 * number : 32 * (number + 1)])
                    for number in range(words)
                },
            ),
        ]
        self.sync += [
            self.read_port.re.eq(reads | started),
            self.read_port.adr.eq(Mux(started, started_index, chosen)),
            If(reads, next_index.eq(chosen + 1)),
            asked.eq(reads),
            loaded.eq(asked),
            If(taken, word.eq(word + 1), held.eq(word != words - 1)),
            If(loaded, beat.eq(self.read_port.dat_r), word.eq(Mux(held, 0, lane)), held.eq(1)),
            # What was asked for ahead, a burst that ends leaves behind.
            If(~reading | (taken & ~goes_on), asked.eq(0), loaded.eq(0), held.eq(0)),
        ]

    def _processor_writes(self, taken: Any, taken_index: Any, data: Any, strobes: Any) -> None:
        """Writes of words at the Wishbone port, in cycles that the accelerator leaves."""
        bus, words = self.bus, self._words
        writing, writes, done = Signal(), Signal(), Signal()
        index, lane = self._place(bus.adr)
        lanes = [Replicate(lane == number, 4) & bus.sel for number in range(words)]
        self.comb += [
            writing.eq(bus.cyc & bus.stb & bus.we),
            writes.eq(writing & ~done & ~taken),
            If(done, bus.ack.eq(1)),
        ]
        self.sync += [
            done.eq(writes),
            self.write_port.adr.eq(Mux(taken, taken_index, index)),
            self.write_port.dat_w.eq(Mux(taken, data, Replicate(bus.dat_w, words))),
            self.write_port.we.eq(Mux(taken, strobes, Mux(writes, Cat(*lanes), 0))),
        ]

    def _place(self, address: Any) -> tuple[Any, Any]:
        """The beat that a word's address is of, and the number of the word there."""
        bits = (self._words - 1).bit_length()
        return address[bits : self._size_bits - 2], address[:bits] if bits else 0

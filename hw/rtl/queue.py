"""A FIFO: in look-up tables that are memory, or in block RAM where it is deep."""

from __future__ import annotations

from amaranth.hdl import Module, Shape, ShapeLike, Signal
from amaranth.lib import memory, stream
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import clog2
from tandem.hw.rtl.scratchpad import OnChipMemory

SHALLOW = 64
"""Greatest depth of a queue whose memory is read without a clock, as only look-up tables can be."""


class Queue(Block):
    """FIFO of `depth` payloads (a power of two), with a latency of one cycle when empty.

    Members
    -------
    i, o
        Streams in and out; `ready` of the first and `valid` of the second are registers, and so is
        the payload of a queue up to `SHALLOW`.
    level
        Number of payloads in the queue.
    first, last
        Only of a queue that is `numbered`: the numbers of the payload that is shown and of the one
        that came in last, counted from 1 modulo `depth`. If there is none, `first` is the next's.
    """

    def __init__(self, shape: ShapeLike, depth: int, *, numbered: bool = False) -> None:
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"queue depth is {depth}: it must be a power of two, 2 or more")
        self._shape = shape
        self._depth = depth
        self._numbered = numbered
        numbers = {"first": Out(clog2(depth), init=1), "last": Out(clog2(depth))}
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(clog2(depth) + 1),
                **(numbers if numbered else {}),
            }
        )

    def variant(self) -> str:
        """Module suffix: bits and depth, and whether payloads are numbered."""
        numbered = "_numbered" if self._numbered else ""
        return f"{Shape.cast(self._shape).width}x{self._depth}{numbered}"

    def build(self, m: Module) -> None:
        # Every payload is written to the memory, and keeps its place there until it is taken.
        tail = Signal(range(self._depth))
        filled = Signal()
        space = Signal(init=1)
        push = Signal()
        pop = Signal()
        m.d.comb += [
            self.i.ready.eq(space),
            self.o.valid.eq(filled),
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += [
            tail.eq(tail + push),
            self.level.eq(self.level + push - pop),
            filled.eq(push | (filled & ~(pop & (self.level == 1)))),
            space.eq(pop | (space & ~(push & (self.level == self._depth - 1)))),
        ]
        if self._depth <= SHALLOW:
            self._read_ahead(m, tail, push, pop)
        else:
            self._read_next(m, tail, push, pop)
        if self._numbered:
            m.d.comb += self.last.eq(tail)

    def _read_ahead(self, m: Module, tail: Signal, push: Signal, pop: Signal) -> None:
        """Show the head in a register, and in the memory's output the payload after the head.

        The register takes the payload that comes in if no other follows the head.
        """
        m.submodules.storage = storage = memory.Memory(
            shape=self._shape, depth=self._depth, init=[]
        )
        write = storage.write_port()
        read = storage.read_port(domain="comb")
        m.d.comb += [write.en.eq(push), write.addr.eq(tail), write.data.eq(self.i.payload)]
        after_head = Signal(range(self._depth), init=1)
        several = Signal()
        shown = Signal(self._shape, reset_less=True)
        m.d.comb += [read.addr.eq(after_head), self.o.payload.eq(shown)]
        m.d.sync += [
            after_head.eq(after_head + pop),
            several.eq(
                (push & ~pop & self.o.valid) | (several & ~(pop & ~push & (self.level == 2)))
            ),
        ]
        if self._numbered:
            m.d.comb += self.first.eq(after_head)
        with m.If(pop | ~self.o.valid):
            with m.If(several):
                m.d.sync += shown.eq(read.data)
            with m.Else():
                m.d.sync += shown.eq(self.i.payload)

    def _read_next(self, m: Module, tail: Signal, push: Signal, pop: Signal) -> None:
        """Read at the address of the next cycle's head, so that the memory's output is the head.

        A payload written to that address in the same cycle is not in the memory yet: the register
        `newest` bypasses the memory for one cycle.
        """
        bits = Shape.cast(self._shape).width
        m.submodules.storage = storage = OnChipMemory(bits=bits, depth=self._depth, grain=bits)
        head = Signal(range(self._depth))
        next_head = Signal(range(self._depth))
        fresh = Signal()
        newest = Signal(self._shape, reset_less=True)
        m.d.comb += [
            storage.write_enable.eq(push),
            storage.write_address.eq(tail),
            storage.write_data.eq(self.i.payload),
            storage.read_enable.eq(1),
            storage.read_address.eq(next_head),
            next_head.eq(head + pop),
        ]
        m.d.sync += [head.eq(next_head), fresh.eq(push & (tail == next_head))]
        if self._numbered:
            m.d.sync += self.first.eq(self.first + pop)
        with m.If(push):
            m.d.sync += newest.eq(self.i.payload)
        with m.If(fresh):
            m.d.comb += self.o.payload.eq(newest)
        with m.Else():
            m.d.comb += self.o.payload.eq(storage.read_data)

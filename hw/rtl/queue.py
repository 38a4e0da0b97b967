"""A FIFO that maps to block RAM."""

from __future__ import annotations

from amaranth.hdl import Module, Shape, ShapeLike, Signal
from amaranth.lib import memory, stream
from amaranth.lib.wiring import In, Out

from hw.rtl.block import Block
from hw.rtl.layouts import clog2
from hw.rtl.scratchpad import NO_COLLISIONS


class Queue(Block):
    """FIFO of `depth` payloads (a power of two), with a latency of one cycle when empty.

    Members
    -------
    i, o
        Streams in and out.
    level
        Number of payloads in the queue.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"queue depth is {depth}: it must be a power of two, 2 or more")
        self._shape = shape
        self._depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(clog2(depth) + 1),
            }
        )

    def variant(self) -> str:
        """Module suffix: bits and depth."""
        return f"{Shape.cast(self._shape).width}x{self._depth}"

    def build(self, m: Module) -> None:
        # The memory is read synchronously at the address of the next cycle's head, so that its
        # output register is the head. A payload written to that address in the same cycle is not
        # in the memory yet: the register `newest` bypasses the memory for one cycle.
        m.submodules.storage = storage = memory.Memory(
            shape=self._shape, depth=self._depth, init=[], attrs=NO_COLLISIONS
        )
        write = storage.write_port()
        read = storage.read_port()

        head = Signal(range(self._depth))
        tail = Signal(range(self._depth))
        next_head = Signal(range(self._depth))
        fresh = Signal()
        newest = Signal(self._shape, reset_less=True)

        # `level` is not 0, is not `depth`: registers, as units wait for them.
        filled = Signal()
        space = Signal(init=1)
        push = Signal()
        pop = Signal()
        m.d.comb += [
            self.i.ready.eq(space),
            self.o.valid.eq(filled),
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
            next_head.eq(head + pop),
            write.en.eq(push),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            read.addr.eq(next_head),
        ]
        m.d.sync += [
            head.eq(next_head),
            tail.eq(tail + push),
            self.level.eq(self.level + push - pop),
            filled.eq(push | (filled & ~(pop & (self.level == 1)))),
            space.eq(pop | (space & ~(push & (self.level == self._depth - 1)))),
            fresh.eq(push & (tail == next_head)),
        ]
        with m.If(push):
            m.d.sync += newest.eq(self.i.payload)
        with m.If(fresh):
            m.d.comb += self.o.payload.eq(newest)
        with m.Else():
            m.d.comb += self.o.payload.eq(read.data)

"""Reads rows of DRAM as a stream of beats, prefetched as far as the buffer has space."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.bursts import BurstGenerator
from tandem.hw.rtl.layouts import rows_layout
from tandem.hw.rtl.ports import ReadPort
from tandem.hw.rtl.queue import Queue


class ReadStream(Block):
    """Requests bursts and outputs their beats in order, one cycle after arrival.

    A burst is requested only when the buffer has space for all its beats. So read data is always
    accepted at once, and no client blocks the data of another client.

    Members
    -------
    start, rows
        As in `BurstGenerator`.
    port
        To the read master.
    beat
        The beats, in order.
    """

    def __init__(self, config: HardwareConfig, *, depth: int, longest: int, size_bits: int) -> None:
        self._config = config
        self._depth = depth
        self._longest = longest
        self._size_bits = size_bits
        super().__init__(
            {
                "start": In(1),
                "rows": In(rows_layout(config.address_bits, size_bits)),
                "port": Out(ReadPort(config)),
                "beat": Out(stream.Signature(config.bus_bits)),
            }
        )

    def variant(self) -> str:
        """Module suffix: beats in the buffer, longest burst, and bits of a row's size."""
        return f"{self._depth}x{self._longest}x{self._size_bits}"

    def build(self, m: Module) -> None:
        m.submodules.bursts = bursts = BurstGenerator(
            self._config, longest=self._longest, size_bits=self._size_bits
        )
        m.submodules.buffer = buffer = Queue(self._config.bus_bits, self._depth)
        request = self.port.request

        free = Signal(range(self._depth + 1), init=self._depth)
        fits = Signal()
        granted = Signal()
        taken = Signal()
        m.d.comb += [
            bursts.start.eq(self.start),
            bursts.rows.eq(self.rows),
            fits.eq(bursts.burst.payload.beats <= free),
            request.valid.eq(bursts.burst.valid & fits),
            request.payload.eq(bursts.burst.payload),
            bursts.burst.ready.eq(request.ready & fits),
            granted.eq(request.valid & request.ready),
            taken.eq(self.beat.valid & self.beat.ready),
            buffer.i.valid.eq(self.port.beat.valid),
            buffer.i.payload.eq(self.port.beat.payload),
        ]
        wiring.connect(m, buffer.o, wiring.flipped(self.beat))
        # All four sums are ready when it is known which one counts.
        with m.Switch(Cat(granted, taken)):
            with m.Case(0b10):
                m.d.sync += free.eq(free + 1)
            with m.Case(0b01):
                m.d.sync += free.eq(free - request.payload.beats)
            with m.Case(0b11):
                m.d.sync += free.eq(free - request.payload.beats + 1)

"""Reads the program from DRAM as a stream of instructions."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import INSTRUCTION_BITS, clog2
from tandem.hw.rtl.ports import ReadPort
from tandem.hw.rtl.read_stream import ReadStream
from tandem.hw.storage import INDEX_BITS, storage_of
from tandem.hw.timing import FETCH_BURST


class InstructionReader(Block):
    """Streams the `count` instructions that start at `address`.

    Members
    -------
    start, address, count
        A new program: its address (16-byte aligned) and its length, above 0.
    port
        To the read master.
    instruction
        Instruction words, in program order.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "address": In(config.address_bits),
                "count": In(INDEX_BITS),
                "port": Out(ReadPort(config)),
                "instruction": Out(stream.Signature(INSTRUCTION_BITS)),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        ahead = max(1, FETCH_BURST * INSTRUCTION_BYTES // config.bus_bytes)
        m.submodules.stream = source = ReadStream(
            config,
            depth=storage_of(config)["fetch_buffer"].depth,
            longest=min(ahead, config.longest_burst),
            size_bits=INDEX_BITS + clog2(INSTRUCTION_BYTES),
        )
        wiring.connect(m, source.port, wiring.flipped(self.port))
        aligned = self.address[clog2(INSTRUCTION_BYTES) :]
        m.d.comb += [
            source.start.eq(self.start),
            source.rows.address.eq(Cat(Const(0, clog2(INSTRUCTION_BYTES)), aligned)),
            source.rows.size.eq(self.count << clog2(INSTRUCTION_BYTES)),
            source.rows.rows.eq(1),
        ]
        if config.bus_bytes == INSTRUCTION_BYTES:
            wiring.connect(m, source.beat, wiring.flipped(self.instruction))
        elif config.bus_bytes < INSTRUCTION_BYTES:
            self._join(m, source)
        else:
            self._split(m, source)

    def _join(self, m: Module, source: ReadStream) -> None:
        """Join narrow beats to instructions; an instruction's last beat is not registered."""
        beats = INSTRUCTION_BYTES // self._config.bus_bytes
        kept = [
            Signal(self._config.bus_bits, name=f"part_{index}", reset_less=True)
            for index in range(beats - 1)
        ]
        part = Signal(range(beats))
        whole = Signal()
        m.d.comb += [
            whole.eq(part == beats - 1),
            self.instruction.valid.eq(source.beat.valid & whole),
            self.instruction.payload.eq(Cat(*kept, source.beat.payload)),
            source.beat.ready.eq(~whole | self.instruction.ready),
        ]
        with m.If(source.beat.valid & source.beat.ready):
            m.d.sync += part.eq(Mux(whole, 0, part + 1))
            with m.Switch(part):
                for index, signal in enumerate(kept):
                    with m.Case(index):
                        m.d.sync += signal.eq(source.beat.payload)

    def _split(self, m: Module, source: ReadStream) -> None:
        """Split wide beats into instructions; the program may begin and end inside a beat."""
        beats = self._config.bus_bytes // INSTRUCTION_BYTES
        slot = Signal(range(beats))
        left = Signal(INDEX_BITS)
        m.d.comb += [
            self.instruction.valid.eq(source.beat.valid),
            self.instruction.payload.eq(source.beat.payload.word_select(slot, INSTRUCTION_BITS)),
            source.beat.ready.eq(self.instruction.ready & ((slot == beats - 1) | (left == 1))),
        ]
        with m.If(self.instruction.valid & self.instruction.ready):
            m.d.sync += [slot.eq(slot + 1), left.eq(left - 1)]
        with m.If(self.start):
            m.d.sync += [
                slot.eq(self.address >> clog2(INSTRUCTION_BYTES)),
                left.eq(self.count),
            ]

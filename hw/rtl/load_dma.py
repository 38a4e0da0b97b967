"""Executes LOADs: reads rows of DRAM and writes them, with their padding, on chip."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.codings import CODING_BITS, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import memory_layout
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.element_locator import ElementLocator
from tandem.hw.rtl.layouts import clog2, row_bits, view_of
from tandem.hw.rtl.ports import ReadPort
from tandem.hw.rtl.read_stream import ReadStream
from tandem.hw.topology import MemoryId

EXTENT_BITS = 18
"""Bits of a coordinate in a padded tile: at most 65535 + 2 * 15 elements, and a spare bit."""


def bases_layout(config: HardwareConfig) -> data.StructLayout:
    """One DRAM base address for each memory that the machine has and that has one of its own."""
    bases = {
        memory.name.lower(): config.address_bits
        for memory in config.memories
        if memory.base is memory
    }
    return data.StructLayout(bases)


def WritePort(config: HardwareConfig, memories: tuple[MemoryId, ...]) -> wiring.Signature:
    """On-chip write port of a DMA: data or zeros for `bank` of element `address` of one memory.

    `select` has a bit for each memory. A beat that holds several elements is shifted so that the
    element to write lies in the lowest bits. Of WGT_CODES, `bank` numbers the beats of codes from
    0, those of scales end with all ones; `step` is which half of the beat is to be widened.
    """
    codes = {"coding": Out(CODING_BITS), "step": Out(1)}
    banks = max(config.element_bytes(memory) // config.bus_bytes for memory in memories)
    return wiring.Signature(
        {
            "valid": Out(1),
            "select": Out(len(memories)),
            "pad": Out(1),
            "address": Out(16),
            "bank": Out(max(1, clog2(banks))),
            "data": Out(config.bus_bits),
            **(codes if MemoryId.WGT_CODES in memories else {}),
        }
    )


class LoadDma(Block):
    """Executes one LOAD at a time; writes one bank or padding element a cycle, in SRAM order.

    Padding never waits for data; data is written one cycle after it arrived, or directly after
    the previous element.

    Members
    -------
    start, word
        Start this LOAD (of one of `memories`, with x_size above 0). Not while `active`.
    bases
        DRAM address of element 0 of each memory.
    port
        To the read master.
    write
        To the on-chip memories.
    active, last
        A LOAD is in progress; its last element is written in the next cycle.
    starved
        The beat with the next data to write has not arrived.
    """

    def __init__(
        self, config: HardwareConfig, memories: tuple[MemoryId, ...], *, depth: int
    ) -> None:
        self._config = config
        self._memories = memories
        self._depth = depth
        super().__init__(
            {
                "start": In(1),
                "word": In(view_of(memory_layout(config))),
                "bases": In(bases_layout(config)),
                "port": Out(ReadPort(config)),
                "write": Out(WritePort(config, memories)),
                "active": Out(1),
                "last": Out(1),
                "starved": Out(1),
            }
        )

    def variant(self) -> str:
        """Module suffix: the memories that LOADs write."""
        return "_".join(memory.name.lower() for memory in self._memories)

    def build(self, m: Module) -> None:
        config = self._config
        m.submodules.stream = stream = ReadStream(
            config,
            depth=self._depth,
            longest=config.longest_burst,
            size_bits=row_bits(config),
        )
        wiring.connect(m, stream.port, wiring.flipped(self.port))
        self._request(m, stream)

        # The rest of `build` writes the elements of a padded tile in row-major order. Columns
        # [x_pad_0, right) of rows [y_pad_0, bottom) come from DRAM; all else is padding.
        load = Signal(view_of(memory_layout(config)), reset_less=True)
        select = Signal(len(self._memories), reset_less=True)
        with m.If(self.start):
            m.d.sync += load.eq(self.word)
            m.d.sync += select.eq(Cat(self.word.memory_type == each for each in self._memories))

        # What the element to write is (`from_dram` to `is_last`) is found an element ahead, from
        # the column `x` and the row `y` of the element after it.
        setup = Signal()
        running = Signal()
        from_dram = Signal(reset_less=True)
        data_ends = Signal(reset_less=True)
        row_ends = Signal(reset_less=True)
        is_last = Signal(reset_less=True)
        x = Signal(EXTENT_BITS, reset_less=True)
        y = Signal(EXTENT_BITS, reset_less=True)
        right = Signal(EXTENT_BITS, reset_less=True)
        bottom = Signal(EXTENT_BITS, reset_less=True)
        last_x = Signal(EXTENT_BITS, reset_less=True)
        last_y = Signal(EXTENT_BITS, reset_less=True)
        one_column = (load.x_size == 1) & ~load.x_pad_0.any() & ~load.x_pad_1.any()
        one_row = (load.y_size == 1) & ~load.y_pad_0.any() & ~load.y_pad_1.any()
        m.d.sync += setup.eq(self.start)
        with m.If(setup):
            m.d.sync += [
                running.eq(1),
                right.eq(load.x_pad_0 + load.x_size),
                bottom.eq(load.y_pad_0 + load.y_size),
                last_x.eq(load.x_pad_0 + load.x_size + load.x_pad_1 - 1),
                last_y.eq(load.y_pad_0 + load.y_size + load.y_pad_1 - 1),
                from_dram.eq(~load.x_pad_0.any() & ~load.y_pad_0.any()),
                data_ends.eq(load.x_size == 1),
                row_ends.eq(one_column),
                is_last.eq(one_column & one_row),
                x.eq(~one_column),
                y.eq(one_column),
            ]

        writes = Signal()
        element_ends = Signal()
        ahead_row_ends = Signal()
        m.d.comb += [
            writes.eq(running & (~from_dram | stream.beat.valid)),
            ahead_row_ends.eq(x == last_x),
            self.active.eq(setup | running),
            self.starved.eq(running & from_dram & ~stream.beat.valid),
            self.last.eq(element_ends & is_last),
        ]
        with m.If(element_ends):
            m.d.sync += [
                load.sram_base.eq(load.sram_base + 1),
                from_dram.eq(
                    (x >= load.x_pad_0) & (x < right) & (y >= load.y_pad_0) & (y < bottom)
                ),
                data_ends.eq(x + 1 == right),
                row_ends.eq(ahead_row_ends),
                is_last.eq(ahead_row_ends & (y == last_y)),
                x.eq(Mux(ahead_row_ends, 0, x + 1)),
                y.eq(y + ahead_row_ends),
            ]
        with m.If(self.last):
            m.d.sync += running.eq(0)

        m.submodules.locator = locator = ElementLocator(self._config, self._memories)
        m.d.comb += [
            locator.start.eq(self.start),
            locator.address.eq(stream.rows.address),
            locator.stride.eq(stream.rows.stride),
            locator.select.eq(select),
            locator.beat.eq(stream.beat.payload),
            locator.advance.eq(writes & from_dram),
            locator.row_ends.eq(data_ends),
            element_ends.eq(writes & (~from_dram | locator.element_ends)),
            stream.beat.ready.eq(running & from_dram & locator.beat_ends),
        ]
        # The memories are written a cycle later: sooner than any instruction that is given the
        # LOAD's tokens, or that follows the LOAD in its unit, can read.
        m.d.sync += [
            self.write.valid.eq(writes),
            self.write.select.eq(select),
            self.write.pad.eq(~from_dram),
            self.write.address.eq(load.sram_base),
            self.write.bank.eq(locator.bank),
            self.write.data.eq(locator.data),
        ]
        if MemoryId.WGT_CODES in self._memories:
            m.d.comb += locator.coding.eq(load.coding)
            m.d.sync += [self.write.coding.eq(load.coding), self.write.step.eq(locator.step)]

    def _request(self, m: Module, stream: ReadStream) -> None:
        """Convert element counts to bytes and start the stream."""
        with m.Switch(self.word.memory_type):
            for memory in self._memories:
                with m.Case(memory):
                    base = self.bases[memory.base.name.lower()]
                    m.d.comb += [
                        stream.rows.address.eq(base + self._bytes(m, memory, "dram_base")),
                        stream.rows.size.eq(self._bytes(m, memory, "x_size")),
                        stream.rows.stride.eq(self._bytes(m, memory, "x_stride")),
                    ]
        m.d.comb += [stream.start.eq(self.start), stream.rows.rows.eq(self.word.y_size)]

    def _bytes(self, m: Module, memory: MemoryId, field: str) -> Value:
        """The bytes that a field counts, of a LOAD of a memory."""
        config, count = self._config, self.word[field]
        if memory is not MemoryId.WGT_CODES or field != "x_size":
            return count << clog2(config.dram_unit(memory))
        # Sizes of scales and of codes are powers of two.
        codes = Signal(len(count) + clog2(config.element_bytes(MemoryId.WGT)), name="code_bytes")
        scales = Signal.like(codes, name="scale_bytes")
        with m.Switch(self.word.coding):
            for coding in Coding:
                size = coding.code_bytes(config.block_out, config.block_in, config.bus_bytes)
                with m.Case(coding):
                    m.d.comb += codes.eq(count << clog2(size))
                    if coding.scaled:
                        size = coding.scale_bytes(config.block_out, config.bus_bytes)
                        m.d.comb += scales.eq(count << clog2(size))
        return codes + scales

"""Where the elements of a row lie in its beats, on the way in and on the way out."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from tandem.hw.codings import CODING_BITS, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.layouts import clog2
from tandem.hw.topology import MemoryId
from tandem.hw.widening import widening_of


class ElementLocator(Block):
    """Locates the elements of a row in the row's beats.

    An element as wide as a beat or wider has one bank per beat. A narrower element is a part of
    a beat; a row of narrower elements may begin and end inside a beat.

    Members
    -------
    start, address, stride
        A new job: the first row's address and the distance between rows, in bytes.
    select
        The memory of the elements, one-hot; steady from the cycle after `start`.
    beat, data
        The beat, and the beat shifted so that the element to write lies in the lowest bits.
    advance, row_ends
        This bank or element is taken; the element is the last of its row.
    bank, element_ends, beat_ends
        Bank of the data; whether the data completes the element; whether it completes the beat.
    offset
        Byte offset of a narrow element in the beat.
    coding, step
        With WGT_CODES only: how its elements lie in DRAM, steady from the cycle after `start`, and
        which half of the beat is taken where a beat of codes takes two steps. `bank` numbers beats
        of codes from 0, and ends with all ones for beats of scales.
    """

    def __init__(self, config: HardwareConfig, memories: tuple[MemoryId, ...]) -> None:
        self._bus_bytes = config.bus_bytes
        self._memories = memories
        self._element_bytes = tuple(config.element_bytes(memory) for memory in memories)
        self._beat_bits = clog2(config.bus_bytes)
        banks = max(self._element_bytes) // config.bus_bytes
        self._config = config
        codes = {"coding": In(CODING_BITS), "step": Out(1)}
        super().__init__(
            {
                "start": In(1),
                "address": In(self._beat_bits),
                "stride": In(self._beat_bits),
                "select": In(len(memories)),
                "beat": In(config.bus_bits),
                "advance": In(1),
                "row_ends": In(1),
                "bank": Out(max(1, clog2(banks))),
                "element_ends": Out(1),
                "beat_ends": Out(1),
                "offset": Out(self._beat_bits),
                "data": Out(config.bus_bits),
                **(codes if MemoryId.WGT_CODES in memories else {}),
            }
        )

    def variant(self) -> str:
        """Module suffix: the memories of the elements."""
        return "_".join(memory.name.lower() for memory in self._memories)

    def build(self, m: Module) -> None:
        # Byte offsets in a beat: `row` is the row's first element, `offset` the element to write.
        row = Signal(self._beat_bits, reset_less=True)
        next_row = Signal(self._beat_bits)
        stride = Signal(self._beat_bits, reset_less=True)
        offset = self.offset
        m.d.comb += [next_row.eq(row + stride), self.data.eq(self.beat)]

        for index, size in enumerate(self._element_bytes):
            with m.If(self.select[index]):
                if self._memories[index] is MemoryId.WGT_CODES:
                    self._codes(m)
                elif size >= self._bus_bytes:
                    m.d.comb += [
                        self.element_ends.eq(self.bank == size // self._bus_bytes - 1),
                        self.beat_ends.eq(1),
                    ]
                else:
                    slot = offset >> clog2(size)
                    m.d.comb += [
                        self.element_ends.eq(1),
                        self.beat_ends.eq((offset == self._bus_bytes - size) | self.row_ends),
                        self.data.eq(self.beat.word_select(slot, 8 * size)),
                    ]
                    with m.If(self.advance):
                        m.d.sync += offset.eq(Mux(self.row_ends, next_row, offset + size))
        with m.If(self.advance):
            m.d.sync += self.bank.eq(Mux(self.element_ends, 0, self.bank + 1))
            with m.If(self.row_ends):
                m.d.sync += row.eq(next_row)
        if MemoryId.WGT_CODES in self._memories:
            self._count_codes(m)
        with m.If(self.start):
            m.d.sync += [
                row.eq(self.address),
                offset.eq(self.address),
                stride.eq(self.stride),
                self.bank.eq(0),
            ]

    def _codes(self, m: Module) -> None:
        """Where a beat and a block of codes end."""
        config, ends = self._config, Signal(name="block_ends")
        with m.Switch(self.coding):
            for coding in Coding:
                size = coding.code_bytes(config.block_out, config.block_in, config.bus_bytes)
                with m.Case(coding):
                    m.d.comb += ends.eq(self.bank == size // self._bus_bytes - 1)
        two_steps = self._two_steps()
        m.d.comb += [
            self.beat_ends.eq(~two_steps | self.step),
            self.element_ends.eq(ends & self.beat_ends),
        ]
        with m.If(self.advance):
            m.d.sync += self.step.eq(two_steps & ~self.step)

    def _count_codes(self, m: Module) -> None:
        """Number the beats of a block: scales first, which end with all ones."""
        begins = Signal()
        m.d.sync += begins.eq(self.start)
        codes = self.select[self._memories.index(MemoryId.WGT_CODES)]
        first = -widening_of(self._config).scale_beats
        scaled = codes & (self.coding == Coding.BITS_4_SCALED)
        with m.If(scaled & (begins | (self.advance & self.element_ends))):
            m.d.sync += self.bank.eq(first)
        with m.If(codes & self._two_steps() & self.advance & ~self.step):
            m.d.sync += self.bank.eq(self.bank)
        with m.If(self.start):
            m.d.sync += self.step.eq(0)

    def _two_steps(self) -> Value:
        """Whether a beat of codes takes two steps."""
        widening = widening_of(self._config)
        slow = [coding for coding in Coding if widening.steps(coding) > 1]
        return self.coding.matches(*slow) if slow else Const(0)

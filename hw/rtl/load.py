"""The load unit: LOADs of INP, WGT and PAR, and the table of codes."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tandem.hw.codings import TABLE_ENTRIES
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, memory_layout, table_layout
from tandem.hw.rtl.block import Block
from tandem.hw.rtl.gate import Gate
from tandem.hw.rtl.layouts import UnitStatus, clog2, loaded_by, queued_layout, view_of
from tandem.hw.rtl.load_dma import LoadDma, WritePort, bases_layout
from tandem.hw.rtl.ports import ReadPort, TokenPort
from tandem.hw.rtl.scaled_weight import WEIGHT_BITS
from tandem.hw.rtl.widener import TABLE_WRITE
from tandem.hw.storage import INDEX_BITS, storage_of
from tandem.hw.topology import MemoryId, Unit
from tandem.hw.widening import TABLE_CYCLES


def load_memories(config: HardwareConfig) -> tuple[MemoryId, ...]:
    """The memories that the unit fills."""
    return loaded_by(config, Unit.LOAD)


class LoadUnit(Block):
    """Executes one LOAD at a time: a LOAD starts when the previous LOAD has finished writing.

    Members
    -------
    queue, next
        Instructions, and the tokens shared with compute.
    bases, port, write
        As in `LoadDma`.
    set_entry
        With WGT_CODES only: a write of the table, an entry a cycle while TABLE is executed.
    status
        See `UnitStatus`.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self._config = config
        self._widens = MemoryId.WGT_CODES in load_memories(config)
        set_entry = {"set_entry": Out(TABLE_WRITE)}
        super().__init__(
            {
                "queue": In(stream.Signature(queued_layout())),
                "next": Out(TokenPort()),
                "bases": In(bases_layout(config)),
                "port": Out(ReadPort(config)),
                "write": Out(WritePort(config, load_memories(config))),
                "status": Out(UnitStatus()),
                **(set_entry if self._widens else {}),
            }
        )

    def build(self, m: Module) -> None:
        config = self._config
        m.submodules.gate = gate = Gate(config)
        depth = storage_of(config)["load_buffer"].depth
        m.submodules.dma = dma = LoadDma(config, load_memories(config), depth=depth)
        wiring.connect(m, wiring.flipped(self.queue), gate.queue)
        wiring.connect(m, dma.port, wiring.flipped(self.port))
        wiring.connect(m, dma.write, wiring.flipped(self.write))
        head = data.View(view_of(memory_layout(config)), gate.word)

        # An instruction without data ends in the cycle after its start, or when the table is set.
        empty = Signal()
        pushes = Signal()
        index = Signal(INDEX_BITS, reset_less=True)
        ends = Signal()
        alone: Value = empty
        alone_ends: Value = empty
        moves_data: Value = head.x_size != 0
        no_data: Value = head.x_size == 0
        if self._widens:
            is_table = head.opcode == Opcode.TABLE
            moves_data, no_data = moves_data & ~is_table, no_data & ~is_table
            setting, set_last = self._set_table(m, gate.word, gate.start & is_table)
            alone, alone_ends = alone | setting, alone_ends | set_last
        m.d.comb += [
            gate.ready.eq(~dma.active & ~alone),
            gate.next.available.eq(self.next.available),
            self.next.pop.eq(gate.next.pop),
            dma.start.eq(gate.start & moves_data),
            dma.word.eq(head),
            dma.bases.eq(self.bases),
            ends.eq(alone_ends | dma.last),
            self.next.push.eq(ends & pushes),
        ]
        m.d.sync += empty.eq(gate.start & no_data)
        with m.If(gate.start):
            m.d.sync += [pushes.eq(head.push_next), index.eq(gate.index)]

        status = self.status
        under_way = dma.active | alone
        m.d.comb += [
            status.busy.eq((under_way & ~dma.starved) | gate.start),
            status.memory.eq(dma.starved),
            status.token.eq(~under_way & (gate.waits != 0)),
            status.quiet.eq(~under_way & ~gate.start),
            status.active.eq(under_way | gate.valid),
            status.index.eq(index),
            status.waits.eq(gate.waits),
            status.end_index.eq(index),
            status.events.start.eq(gate.start),
            status.events.end.eq(ends),
            status.events.pop_next.eq(gate.next.pop),
            status.events.push_next.eq(self.next.push),
        ]
        with m.If(~under_way):
            m.d.comb += status.index.eq(gate.index)

    def _set_table(self, m: Module, word: Value, start: Value) -> tuple[Signal, Signal]:
        """Write the entries of a TABLE, one a cycle from the cycle after `start` on; returns
        whether that is under way, and whether this is the last."""
        given = data.View(view_of(table_layout(self._config)), word)
        setting = Signal()
        last = Signal()
        entries = Signal(TABLE_CYCLES * WEIGHT_BITS, reset_less=True)
        place = Signal(clog2(TABLE_ENTRIES), reset_less=True)
        m.d.comb += [
            last.eq(setting & place[: clog2(TABLE_CYCLES)].all()),
            self.set_entry.valid.eq(setting),
            self.set_entry.index.eq(place),
            self.set_entry.entry.eq(entries[:WEIGHT_BITS]),
        ]
        with m.If(setting):
            m.d.sync += [entries.eq(entries >> WEIGHT_BITS), place.eq(place + 1), setting.eq(~last)]
        with m.If(start):
            m.d.sync += [
                setting.eq(1),
                entries.eq(Cat(given.entries_low, given.entries_high)),
                place.eq(given.upper_half << clog2(TABLE_CYCLES)),
            ]
        return setting, last

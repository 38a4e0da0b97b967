"""Who touched each place last, and who touches it now without an order between the two.

Why the last access is enough. Instructions are taken in an order of execution that tokens allow
(`Order.sequence`). Of two that conflict, the later one is therefore never ordered before the
earlier, and it is enough to ask whether the earlier is complete when the later starts. Those of one
module that are complete are a prefix of its instructions (`order`): if the last of them to touch a
place is complete, so are all before it; and if any is not, the last is not. So a table of last
accesses, one for each module and kind of access, misses no place with a race, and finds none that
is not there. Which order of execution was taken does not matter: two instructions that nothing
orders are both in it, one after the other.

Only accesses of different modules are compared. Within a module, results are those of program order
by construction of the machine: LOADs run one by one, GEMM and ALU forward, everything else of
compute runs alone, and STOREs' writes have one AXI ID, which keeps them in order.

What can conflict is little. Each on-chip memory has one module that writes it: INP and WGT load,
ACC, its mirror OUT and UOP compute, and nobody else touches UOP. DRAM is written by store only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hw.config import HardwareConfig
from hw.isa.columns import Ints
from hw.isa.hazards.micro_ops import Places
from hw.isa.hazards.order import Order
from hw.memories import MemoryId, Module

__all__ = ["Accesses", "Conflict"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """`earlier` and `later` (in the order of execution) touch `place` of `memory` unordered."""

    earlier: int
    later: int
    memory: MemoryId | None
    place: int
    later_writes: bool


@dataclass(frozen=True, slots=True)
class _Pair:
    """The accesses of a memory that can conflict: its one writer with one of its readers."""

    memory: MemoryId | None
    writer: Module
    reader: Module


_PAIRS = (
    _Pair(MemoryId.INP, Module.LOAD, Module.COMPUTE),
    _Pair(MemoryId.WGT, Module.LOAD, Module.COMPUTE),
    _Pair(MemoryId.ACC, Module.COMPUTE, Module.STORE),
    _Pair(None, Module.STORE, Module.LOAD),
    _Pair(None, Module.STORE, Module.COMPUTE),
)


class Accesses:
    """The last accesses so far. Instructions are added in the order of execution."""

    def __init__(self, config: HardwareConfig, order: Order, pieces: int) -> None:
        """`pieces` is how many places DRAM has."""
        self._order = order
        # A table holds 1 more than the place, in its module, of the instruction that touched last.
        self._tables: dict[tuple[MemoryId | None, Module, bool], Ints] = {}
        self._others: dict[tuple[MemoryId | None, Module, bool], list[Module]] = {}
        for pair in _PAIRS:
            size = pieces if pair.memory is None else config.depth(pair.memory)
            ends = ((pair.writer, True, pair.reader), (pair.reader, False, pair.writer))
            for module, writes, other in ends:
                key = (pair.memory, module, writes)
                self._tables.setdefault(key, np.zeros(size, dtype=np.int64))
                self._others.setdefault(key, []).append(other)

    def add(
        self,
        position: int,
        module: Module,
        memory: MemoryId | None,
        places: Places,
        *,
        writes: bool,
    ) -> list[Conflict]:
        """Record an access, and give the conflicts with those before it: one for each instruction
        that was the last of its module to touch some of `places`, at the least such place."""
        key = (memory, module, writes)
        clock = self._order.clocks[position]
        conflicts: list[Conflict] = []
        for other in self._others[key]:
            table = self._tables[memory, other, not writes]
            found = table[places]
            if int(found.max()) > clock[other]:
                conflicts += self._conflicts(position, memory, places, other, writes)
        self._tables[key][places] = self._order.places[position] + 1
        return conflicts

    def was_stored(self, places: Places) -> bool:
        """Whether a STORE so far has written some of these places of DRAM."""
        return bool(self._tables[None, Module.STORE, True][places].any())

    def _conflicts(
        self, later: int, memory: MemoryId | None, places: Places, other: Module, writes: bool
    ) -> Iterator[Conflict]:
        table = self._tables[memory, other, not writes]
        index = np.arange(len(table))[places]
        racing = index[table[index] > self._order.clocks[later][other]]
        # unique() gives the first, and so the least, place of each.
        lasts, at = np.unique(table[racing], return_index=True)
        for last, place in zip(lasts.tolist(), racing[at].tolist(), strict=True):
            earlier = self._order.positions[other][last - 1]
            yield Conflict(earlier, later, memory, place, writes)

"""Who touched each element of each memory last, command by command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from compiler.lower.accelerator.commands import Command, Copy, Ints
from compiler.lower.accelerator.footprints import Footprints, Where
from hw.memories import MemoryId, Module

__all__ = ["NOBODY", "LastAccesses", "Touched"]

NOBODY = -1
"""No position in the stream."""

_Part: TypeAlias = tuple[MemoryId | None, Where]
"""Elements of a memory; None: DRAM."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What a command reads and writes, on chip and in DRAM."""

    reads: tuple[_Part, ...]
    writes: tuple[_Part, ...]


class LastAccesses:
    """The last accesses so far: positions in the stream, for each module."""

    def __init__(self, footprints: Footprints, dram_bytes: int) -> None:
        """`dram_bytes`: memory that commands speak of, from address 0."""
        config = footprints.config
        self._config, self._footprints = config, footprints
        self._grain = min(config.element_bytes(each) for each in (MemoryId.INP, MemoryId.OUT))
        self._sizes: dict[MemoryId | None, int] = {
            each: config.depth(each) for each in (MemoryId.INP, MemoryId.WGT, MemoryId.ACC)
        }
        self._sizes[None] = -(-dram_bytes // self._grain)
        # Most modules never touch most memories: tables come when they are needed.
        self._reads: dict[tuple[MemoryId | None, Module], Ints] = {}
        self._writes: dict[tuple[MemoryId | None, Module], Ints] = {}
        self._rows: dict[tuple[int, int, int, int], Ints] = {}
        """What copies of several rows touch, counted from the step that they begin in: most copies
        of a stream differ in nothing else."""

    def touched(self, command: Command) -> Touched:
        """What a command touches."""
        chip = self._footprints.of(command)
        if not isinstance(command, Copy):
            return Touched(chip.reads, chip.writes)
        dram: _Part = None, self._in_dram(command)
        if command.memory is MemoryId.OUT:
            return Touched(chip.reads, (*chip.writes, dram))
        return Touched((*chip.reads, dram), chip.writes)

    def needed(self, touched: Touched, other: Module) -> int:
        """The last command of another module that has to be complete before."""
        found = NOBODY
        for memory, where in touched.reads:
            found = max(found, _last(self._writes.get((memory, other)), where))
        for memory, where in touched.writes:
            found = max(found, _last(self._writes.get((memory, other)), where))
            found = max(found, _last(self._reads.get((memory, other)), where))
        return found

    def add(self, touched: Touched, module: Module, position: int) -> None:
        """A command of a module touches this."""
        for parts, tables in ((touched.reads, self._reads), (touched.writes, self._writes)):
            for memory, where in parts:
                table = tables.get((memory, module))
                if table is None:
                    table = np.full(self._sizes[memory], NOBODY, dtype=np.int64)
                    tables[memory, module] = table
                table[where] = position

    def _in_dram(self, copy: Copy) -> Where:
        """In steps of a few bytes, those that are touched in part as well."""
        size, grain = self._config.element_bytes(copy.memory), self._grain
        length = copy.columns * size
        if copy.rows == 1 or copy.stride == copy.columns:
            begin = copy.dram * size
            last = begin + (copy.rows - 1) * copy.stride * size + length
            return slice(begin // grain, -(-last // grain))
        whole, part = divmod(copy.dram * size, grain)
        key = part, copy.rows, copy.stride * size, length
        steps = self._rows.get(key)
        if steps is None:
            steps = self._rows[key] = self._steps(*key)
        return steps + whole

    def _steps(self, begin: int, rows: int, stride: int, length: int) -> Ints:
        """The steps that rows touch: bytes from one to the next, and of each."""
        begins = begin + np.arange(rows, dtype=np.int64) * stride
        first = begins // self._grain
        # Rows are equally long, but may begin anywhere in a step.
        count = -(-length // self._grain) + 1
        steps = first[:, None] + np.arange(count)
        found: Ints = steps[steps * self._grain < (begins + length)[:, None]]
        return found


def _last(table: Ints | None, where: Where) -> int:
    return NOBODY if table is None else int(np.maximum.reduce(table[where], initial=NOBODY))

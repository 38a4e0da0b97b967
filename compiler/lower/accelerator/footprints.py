"""What commands touch of on-chip memories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from compiler.lower.accelerator.commands import Command, Compute, Copy, Ints
from hw.config import HardwareConfig
from hw.memories import MemoryId

__all__ = ["Footprint", "Footprints", "Where"]

Where: TypeAlias = Ints | slice
"""Elements of a memory, each once."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Elements that a command reads and writes, by memory (OUT counts as ACC, UOP is left out).

    Attributes
    ----------
    keeps
        Whether what it writes depends on what was there.
    """

    reads: tuple[tuple[MemoryId, Where], ...]
    writes: tuple[tuple[MemoryId, Where], ...]
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class Footprints:
    """Footprints, each computed once."""

    config: HardwareConfig
    _cache: dict[tuple[object, ...], Footprint] = field(default_factory=dict)

    def of(self, command: Command) -> Footprint:
        """What a command touches."""
        if isinstance(command, Copy):
            return _of_copy(command)
        key = (
            command.kernel,
            command.outer,
            command.inner,
            command.op is None,
            command.reads_src,
            command.reads_wgt,
        )
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._of_compute(command)
        return found

    def _of_compute(self, command: Compute) -> Footprint:
        reads = []
        if command.reads_src:
            memory = MemoryId.INP if command.op is None else MemoryId.ACC
            reads.append((memory, self._distinct(command, "src", memory)))
        if command.reads_wgt:
            reads.append((MemoryId.WGT, self._distinct(command, "wgt", MemoryId.WGT)))
        written = MemoryId.ACC, self._distinct(command, "dst", MemoryId.ACC)
        return Footprint(tuple(reads), (written,), keeps=not command.reset)

    def _distinct(self, command: Compute, which: str, memory: MemoryId) -> Ints:
        used = np.zeros(self.config.depth(memory), dtype=np.bool_)
        used[command.indices(which)] = True
        return np.flatnonzero(used)


def _of_copy(copy: Copy) -> Footprint:
    chip = slice(copy.sram, copy.sram + copy.size)
    match copy.memory:
        case MemoryId.UOP:
            return Footprint((), ())
        case MemoryId.OUT:
            return Footprint(((MemoryId.ACC, chip),), ())
        case MemoryId.INP | MemoryId.WGT as memory:
            return Footprint((), ((memory, chip),))
        case MemoryId.ACC | MemoryId.ACC_8BIT:
            return Footprint((), ((MemoryId.ACC, chip),))

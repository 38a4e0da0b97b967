"""Where buffers lie in on-chip memories."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.errors import CapacityError
from compiler.ir.buffer import Buffer
from compiler.ir.stmt import Alloc, Function, Stmt
from compiler.ir.visit import children
from compiler.lower.accelerator.elements import lanes_of
from compiler.target import AcceleratorTarget
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["ChipMemory", "footprint"]


@dataclass(slots=True)
class ChipMemory:
    """What is allocated at present: the last one that came goes first.

    Attributes
    ----------
    from_top
        Allocate from the end of the memories downwards. Operators that follow each other alternate,
        so that one's first loads need not wait for the other's last use.
    peak
        The most elements of each memory that were allocated at once.
    """

    config: HardwareConfig
    from_top: bool = False
    peak: dict[MemoryId, int] = field(default_factory=dict)
    _live: dict[MemoryId, list[tuple[str, int]]] = field(default_factory=dict)

    def allocate(self, memory: MemoryId, buffer: Buffer) -> int:
        """Where the buffer begins, in elements.

        Raises
        ------
        CapacityError
            If what is live does not fit; names all of it.
        """
        live = self._live.setdefault(memory, [])
        lanes = lanes_of(memory, self.config)
        if buffer.size % lanes:
            raise CapacityError(
                f"{buffer.name} {list(buffer.shape)} has {buffer.size} values, no multiple of the "
                f"{lanes} in an element of {memory.name}"
            )
        size = buffer.size // lanes
        used = sum(each for _, each in live)
        depth = self.config.depth(memory)
        live.append((buffer.name, size))
        if used + size > depth:
            users = ", ".join(f"{name} {count:,}" for name, count in live)
            raise CapacityError(
                f"{memory.name} of {self.config.name} has {depth:,} elements; {users} are "
                f"{used + size:,}: {used + size - depth:,} too many when {buffer.name} "
                f"{list(buffer.shape)} is added"
            )
        self.peak[memory] = max(self.peak.get(memory, 0), used + size)
        return depth - used - size if self.from_top else used

    def release(self, memory: MemoryId) -> None:
        """The last buffer is not needed any more."""
        self._live[memory].pop()


def footprint(function: Function, target: AcceleratorTarget) -> dict[MemoryId, int]:
    """Elements of each memory that a lowered program takes, as they are placed.

    Raises
    ------
    CapacityError
        Where they do not fit.
    """
    chip = ChipMemory(target.config)

    def place(stmt: Stmt) -> None:
        memory = target.memory(stmt.buffer.scope) if isinstance(stmt, Alloc) else None
        if isinstance(stmt, Alloc) and memory is not None:
            chip.allocate(memory, stmt.buffer)
        for each in children(stmt):
            place(each)
        if memory is not None:
            chip.release(memory)

    place(function.body)
    return chip.peak

"""Where buffers lie in on-chip memories."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.errors import CapacityError
from compiler.ir.buffer import Buffer
from compiler.lower.accelerator.elements import lanes_of
from hw.config import HardwareConfig
from hw.memories import MemoryId

__all__ = ["ChipMemory"]


@dataclass(slots=True)
class ChipMemory:
    """What is allocated at present: the last one that came goes first.

    Attributes
    ----------
    from_top
        Allocate from the end of the memories downwards. Operators that follow each other alternate,
        so that one's first loads need not wait for the other's last use.
    """

    config: HardwareConfig
    from_top: bool = False
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
        return depth - used - size if self.from_top else used

    def release(self, memory: MemoryId) -> None:
        """The last buffer is not needed any more."""
        self._live[memory].pop()

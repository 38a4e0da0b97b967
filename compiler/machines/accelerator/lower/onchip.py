"""Allocation of buffers in on-chip memories."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tandem.compiler.errors import CapacityError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.stmt import Alloc, PrimFunc, Stmt
from tandem.compiler.ir.visit import children
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId


def lanes_of(memory: MemoryId, config: HardwareConfig) -> int:
    """The number of values in one element of a memory."""
    match memory:
        case MemoryId.ACC:
            return config.acc_lanes
        case MemoryId.PAR:
            return config.block_out
        case _:
            return config.element_bytes(memory)


def with_slots(buffer: Buffer) -> Buffer:
    """All slots of a buffer as one, with a dimension for the slots if there are several."""
    if buffer.slots == 1:
        return buffer
    return replace(buffer, shape=(buffer.slots, *buffer.shape), slots=1)


@dataclass(slots=True)
class ChipMemory:
    """A stack allocator for each on-chip memory.

    Attributes
    ----------
    from_top
        Whether to allocate from the end of the memories downwards. Consecutive operators alternate,
        so that an operator's first loads need not wait for the last uses by its predecessor.
    peak
        The largest number of elements allocated at once, by memory.
    """

    config: HardwareConfig
    from_top: bool = False
    peak: dict[MemoryId, int] = field(default_factory=dict)
    _live: dict[MemoryId, list[tuple[str, int]]] = field(default_factory=dict)

    def allocate(self, memory: MemoryId, buffer: Buffer) -> int:
        """The address of a new buffer, in elements.

        Raises
        ------
        CapacityError
            If the live buffers do not fit; names all of them.
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
        """Free the buffer that was allocated last."""
        self._live[memory].pop()


def footprint(function: PrimFunc, target: AcceleratorTarget) -> dict[MemoryId, int]:
    """The largest number of elements of each memory that a lowered program allocates at once.

    Raises
    ------
    CapacityError
        If the program's buffers do not fit.
    """
    chip = ChipMemory(target.config)

    def place(stmt: Stmt) -> None:
        memory = target.memory(stmt.buffer.scope) if isinstance(stmt, Alloc) else None
        if isinstance(stmt, Alloc) and memory is not None:
            chip.allocate(memory, with_slots(stmt.buffer))
        for child in children(stmt):
            place(child)
        if memory is not None:
            chip.release(memory)

    place(function.body)
    return chip.peak

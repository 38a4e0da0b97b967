"""The occupancy of on-chip memories by a lowered program, counted from its statements."""

from __future__ import annotations

from collections import Counter

from tandem.compiler.ir.stmt import Alloc, Stmt
from tandem.compiler.ir.visit import children
from tandem.compiler.machines.accelerator.lower.onchip import lanes_of
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.topology import MemoryId


def live_elements(stmt: Stmt, target: AcceleratorTarget) -> Counter[MemoryId]:
    """The most elements of each memory that are allocated at once."""
    most: Counter[MemoryId] = Counter()
    for child in children(stmt):
        most |= live_elements(child, target)
    memory = target.memory(stmt.buffer.scope) if isinstance(stmt, Alloc) else None
    if isinstance(stmt, Alloc) and memory is not None:
        most[memory] += stmt.buffer.slots * stmt.buffer.size // lanes_of(memory, target.config)
    return most

"""Names that instructions use: on-chip memories, modules, and the token queues between them."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["MemoryId", "Module", "TokenQueue"]


class MemoryId(IntEnum):
    """The `memory_type` field of LOAD and STORE."""

    UOP = 0
    WGT = 1
    INP = 2
    ACC = 3
    OUT = 4
    ACC_8BIT = 5


class Module(IntEnum):
    """The three modules that run decoupled, in the order of the data's way through them."""

    LOAD = 0
    COMPUTE = 1
    STORE = 2


class TokenQueue(IntEnum):
    """The four dependence queues, named by who pushes and who pops."""

    LOAD_TO_COMPUTE = 0
    COMPUTE_TO_LOAD = 1
    COMPUTE_TO_STORE = 2
    STORE_TO_COMPUTE = 3

    @property
    def producer(self) -> Module:
        """The module that pushes tokens into this queue."""
        return _ENDS[self][0]

    @property
    def consumer(self) -> Module:
        """The module that pops tokens from this queue."""
        return _ENDS[self][1]

    def __str__(self) -> str:
        return self.name.lower().replace("_to_", "->")


_ENDS = {
    TokenQueue.LOAD_TO_COMPUTE: (Module.LOAD, Module.COMPUTE),
    TokenQueue.COMPUTE_TO_LOAD: (Module.COMPUTE, Module.LOAD),
    TokenQueue.COMPUTE_TO_STORE: (Module.COMPUTE, Module.STORE),
    TokenQueue.STORE_TO_COMPUTE: (Module.STORE, Module.COMPUTE),
}

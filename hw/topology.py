"""The memories, units and token queues that instructions name, and their connections.

On-chip memories, the three units that execute instructions, and the token queues between the units.
Dispatch, the validator, the simulators and the compiler derive from here which unit executes an
instruction, which memory a LOAD writes, and which queue a dependence flag refers to.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from tandem.hw.features import BASE, Feature


class MemoryId(IntEnum):
    """The `memory_type` field of LOAD and STORE."""

    UOP = 0
    WGT = 1
    INP = 2
    ACC = 3
    OUT = 4
    ACC_8BIT = 5
    PAR = 6
    """Parameters of requantisation, an element for each block of output channels."""
    WGT_CODES = 7
    """Blocks of compressed weights, which a LOAD widens to int8 (`hw.codings`)."""

    @property
    def needs(self) -> frozenset[Feature]:
        """The features that a machine with this memory id has."""
        match self:
            case MemoryId.PAR:
                return frozenset({Feature.REQUANTISE})
            case MemoryId.WGT_CODES:
                return frozenset({Feature.COMPRESSED_WEIGHTS})
            case _:
                return BASE

    @property
    def written(self) -> MemoryId:
        """The memory that a LOAD of this id writes: ACC_8BIT is int8 in DRAM, loaded into ACC, and
        WGT_CODES is codes in DRAM, loaded into WGT."""
        match self:
            case MemoryId.ACC_8BIT:
                return MemoryId.ACC
            case MemoryId.WGT_CODES:
                return MemoryId.WGT
            case _:
                return self

    @property
    def base(self) -> MemoryId:
        """The memory from whose base register DRAM addresses count: WGT_CODES has that of WGT."""
        return MemoryId.WGT if self is MemoryId.WGT_CODES else self

    @property
    def read(self) -> MemoryId:
        """The memory whose contents a STORE of this id reads: OUT holds the low 8 bits of ACC."""
        return MemoryId.ACC if self is MemoryId.OUT else self


BASED = tuple(memory for memory in MemoryId if memory.base is memory)
"""The memories with base registers of their own: the first ones."""
BASE_REGISTERS = len(BASED)


class Unit(IntEnum):
    """The three decoupled units, in the order of the data flow."""

    LOAD = 0
    COMPUTE = 1
    STORE = 2


LOADED_BY: Mapping[Unit, tuple[MemoryId, ...]] = {
    Unit.LOAD: (MemoryId.INP, MemoryId.WGT, MemoryId.PAR, MemoryId.WGT_CODES),
    Unit.COMPUTE: (MemoryId.UOP, MemoryId.ACC, MemoryId.ACC_8BIT),
    Unit.STORE: (),
}
"""The memory ids of the LOADs that each unit executes. OUT cannot be loaded."""


class TokenQueue(IntEnum):
    """The four dependence queues, named by the units that push and pop their tokens."""

    LOAD_TO_COMPUTE = 0
    COMPUTE_TO_LOAD = 1
    COMPUTE_TO_STORE = 2
    STORE_TO_COMPUTE = 3

    @property
    def producer(self) -> Unit:
        """The unit that pushes tokens into this queue."""
        return _ENDS[self][0]

    @property
    def consumer(self) -> Unit:
        """The unit that pops tokens from this queue."""
        return _ENDS[self][1]

    def __str__(self) -> str:
        return self.name.lower().replace("_to_", "->")


_ENDS = {
    TokenQueue.LOAD_TO_COMPUTE: (Unit.LOAD, Unit.COMPUTE),
    TokenQueue.COMPUTE_TO_LOAD: (Unit.COMPUTE, Unit.LOAD),
    TokenQueue.COMPUTE_TO_STORE: (Unit.COMPUTE, Unit.STORE),
    TokenQueue.STORE_TO_COMPUTE: (Unit.STORE, Unit.COMPUTE),
}
"""By queue, the unit that pushes its tokens and the unit that pops them."""


def _queue(producer: int, consumer: int) -> TokenQueue | None:
    """The queue between two units; None where there is none."""
    return next((queue for queue, ends in _ENDS.items() if ends == (producer, consumer)), None)


SIDES = ("prev", "next")
"""The neighbours of a unit in the order of `Unit`: the previous and the next."""
TOKEN_FLAGS = tuple(f"{verb}_{side}" for verb in ("pop", "push") for side in SIDES)
"""Names of the dependence flags: the first fields of an instruction after the opcode."""

POPS: Mapping[Unit, tuple[TokenQueue | None, TokenQueue | None]] = {
    unit: (_queue(unit - 1, unit), _queue(unit + 1, unit)) for unit in Unit
}
"""By unit, the queues that the flags pop_prev and pop_next refer to."""
PUSHES: Mapping[Unit, tuple[TokenQueue | None, TokenQueue | None]] = {
    unit: (_queue(unit, unit - 1), _queue(unit, unit + 1)) for unit in Unit
}
"""By unit, the queues that the flags push_prev and push_next refer to."""


def flags_without_queue(unit: Unit) -> tuple[str, ...]:
    """Names of the dependence flags that an instruction of `unit` must not set."""
    queues = zip(TOKEN_FLAGS, POPS[unit] + PUSHES[unit], strict=True)
    return tuple(flag for flag, queue in queues if queue is None)


TOKEN_BITS = 16
"""Width of the counter of a token queue."""
MAX_TOKENS = (1 << TOKEN_BITS) - 1
"""The most tokens that a queue holds."""

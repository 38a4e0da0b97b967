"""Storage of allocated buffers: on the stack, or in a workspace that the caller passes.

Local and small buffers are on the stack, while it has space; LLVM promotes buffers that are only
indexed by constants to registers. Other buffers have a fixed offset in the workspace, and share
memory with buffers of disjoint lifetimes. Buffers of a parallel loop lie in the worker's own part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.stmt import Alloc, For, LoopKind, PrimFunc, Stmt
from tandem.compiler.ir.visit import children
from tandem.compiler.machines.cpu.codegen.vector_strips import widest
from tandem.runtime.native import ALIGNMENT

STACK_BYTES = 64 * 1024
"""The most that one function, or one task of a parallel loop, takes of its thread's stack."""
SMALL_BYTES = 4 * 1024
"""Buffers of at most this size are on the stack whatever their scope."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The storage of one buffer.

    Attributes
    ----------
    lanes
        The number of copies: one for each lane of a vectorized loop around the allocation, or 1.
    offset
        Bytes from the beginning of the workspace, or of the worker's part; None on the stack.
    worker
        Whether the buffer is allocated inside a parallel loop.
    """

    buffer: Buffer
    lanes: int
    offset: int | None
    worker: bool

    @property
    def bytes(self) -> int:
        """The size in bytes, rounded up to the alignment."""
        size = self.buffer.size * self.lanes * self.buffer.dtype.numpy.itemsize
        return -(-size // ALIGNMENT) * ALIGNMENT

    def overlaps(self, other: Slot) -> bool:
        """Whether two slots share memory, and thus have different lifetimes."""
        if self.offset is None or other.offset is None or self.worker != other.worker:
            return False
        return self.offset < other.offset + other.bytes and other.offset < self.offset + self.bytes


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """Slots by buffer name, and the workspace's bytes: shared, and for each worker."""

    slots: Mapping[str, Slot]
    shared_bytes: int
    worker_bytes: int


@dataclass
class _Planner:
    register_bits: int
    slots: dict[str, Slot] = field(default_factory=dict)
    peak: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    stack: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})

    def walk(self, stmt: Stmt, top: int, worker: bool, lanes: int) -> None:
        if isinstance(stmt, For):
            if stmt.kind is LoopKind.VECTORIZED and lanes == 1:
                lanes = widest(stmt, self.register_bits)
            if stmt.kind is LoopKind.PARALLEL and not worker:
                worker, top = True, 0
                self.stack[True] = 0
        if isinstance(stmt, Alloc):
            top = self.place(stmt.buffer, top, worker, lanes)
        for child in children(stmt):
            self.walk(child, top, worker, lanes)

    def place(self, buffer: Buffer, top: int, worker: bool, lanes: int) -> int:
        if buffer.scope not in (Scope.GLOBAL, Scope.LOCAL):
            raise CodegenError(
                f"{buffer.name} lies in {buffer.scope.value}: a CPU has global and local memory"
            )
        slot = Slot(buffer, lanes, None, worker)
        prefers_stack = buffer.scope == Scope.LOCAL or slot.bytes <= SMALL_BYTES
        if prefers_stack and self.stack[worker] + slot.bytes <= STACK_BYTES:
            self.stack[worker] += slot.bytes
        else:
            slot = Slot(buffer, lanes, top, worker)
            top += slot.bytes
            self.peak[worker] = max(self.peak[worker], top)
        self.slots[buffer.name] = slot
        return top


def plan_storage(function: PrimFunc, register_bits: int) -> StoragePlan:
    """A slot for each buffer that `function` allocates, for vectors of `register_bits`."""
    planner = _Planner(register_bits)
    planner.walk(function.body, 0, False, 1)
    return StoragePlan(planner.slots, planner.peak[False], planner.peak[True])

"""cache_read: readers read a copy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.buffer import Buffer, Scope
from compiler.ir.expr import Load, Var
from compiler.ir.stmt import Alloc, Function, Invoke, IterKind, Stmt, Store
from compiler.ir.visit import blocks, buffers_in, writes
from compiler.te.build import stage_nest
from compiler.te.primitives.base import Primitive
from compiler.te.primitives.compute_at import ComputeAt
from compiler.te.tree import (
    allocated,
    allocations,
    insert_before,
    loops_among,
    map_blocks,
    map_buffers,
    path_to,
    read_by,
    replace_stmt,
    written_by,
)

__all__ = ["CacheRead"]


@dataclass(frozen=True, slots=True)
class CacheRead(Primitive):
    """Copy a buffer, and let some stages read the copy.

                                             alloc A_local: float32[8] @local
                                             for A_local.d0 in 8:
        for C.i in 8:                          block A_local(d0 = A_local.d0):
          block C(i = C.i):           ->         A_local[d0] = A[d0]
            C[i] = A[i] + 1.0                for C.i in 8:
                                               block C(i = C.i):
                                                 C[i] = A_local[i] + 1.0

    The copy is a stage like others: move it with compute_at. (TVM: `cache_read`.)

    Parameters
    ----------
    copy
        Name of the copy and its stage; by default the buffer's and the scope's.
    """

    buffer: str
    readers: tuple[str, ...]
    scope: Scope
    copy: str = ""

    name: ClassVar[str] = "cache_read"

    def apply(self, program: Function) -> Function:
        """See the class."""
        source = self._source(program)
        name = self.new_stage(program, self.copy or f"{self.buffer}_{self.scope.value}")
        copy = Buffer(name, source.shape, source.dtype, self.scope)
        if not self.readers:
            self.refuse("at least one reader is needed")
        for reader in self.readers:
            block = self.block_of(program.body, reader)
            if self.buffer not in read_by(block) or isinstance(block.body, Invoke):
                self.refuse(f"{reader} does not read {self.buffer}, or through an intrinsic")
            if self.buffer in written_by(block):
                self.refuse(f"{reader} reads {self.buffer} to update it")
        for writer in blocks(program.body):
            axes = tuple(each.var for each in writer.iters if each.kind is IterKind.SPATIAL)
            for store in writes(writer):
                if store.buffer == source and store.indices != axes:
                    self.refuse(f"{self.buffer} has another layout: cache_read comes before")
        body = map_blocks(
            program.body,
            lambda each: (
                replace(each, body=map_buffers(each.body, {self.buffer: copy}))
                if each.name in self.readers
                else each
            ),
        )
        indices = tuple(Var(f"d{number}") for number in range(len(source.shape)))
        new = stage_nest(Store(copy, indices, Load(source, indices)))

        def place(inner: Stmt) -> Stmt:
            return Alloc(copy, insert_before(inner, new, name))

        if self.buffer not in allocated(body):
            return replace(program, body=place(body))
        allocation = next(each for each in allocations(body) if each.buffer == source)
        placed = replace(allocation, body=place(allocation.body))
        cached = replace(program, body=replace_stmt(body, allocation, placed))
        around = loops_among(path_to(body, allocation))
        if not around:
            return cached
        # Computed in a loop, the buffer holds a box only: the copy is of what is read there.
        stage, _, axis = around[-1].var.name.partition(".")
        return ComputeAt(name, stage, axis).apply(cached)

    def _source(self, program: Function) -> Buffer:
        known = {each.name: each for each in buffers_in(program)}
        if self.buffer not in known:
            self.refuse(f"there is no buffer {self.buffer}")
        return known[self.buffer]

"""cache_read and cache_write: stages read a copy of a buffer, or write one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Load, Var
from tandem.compiler.ir.stmt import Alloc, Block, Invoke, IterKind, PrimFunc, Seq, Stmt, Store
from tandem.compiler.ir.visit import blocks, buffers_in, writes
from tandem.compiler.te.build import stage_nest
from tandem.compiler.te.primitives.base import Primitive, element_nest
from tandem.compiler.te.primitives.compute_at import ComputeAt
from tandem.compiler.te.tree import (
    LoopRef,
    allocated,
    allocations,
    insert_before,
    loops_on_path,
    map_blocks,
    map_buffers,
    path_to,
    read_by,
    rename_loops,
    replace_stmt,
    written_by,
)


@dataclass(frozen=True, slots=True)
class CacheRead(Primitive):
    """Copy a buffer and make some stages read the copy.

                                             alloc A_local: float32[8] @local
                                             for A_local.d0 in 8:
        for C.i in 8:                          block A_local(d0 = A_local.d0):
          block C(i = C.i):           ->         A_local[d0] = A[d0]
            C[i] = A[i] + 1.0                for C.i in 8:
                                               block C(i = C.i):
                                                 C[i] = A_local[i] + 1.0

    The copy is a stage of its own: move it with compute_at. (TVM: `cache_read`.)

    Parameters
    ----------
    copy
        Name of the copy and of its stage; `buffer_scope` by default.
    """

    buffer: str
    readers: tuple[str, ...]
    scope: Scope
    copy: str = ""

    name: ClassVar[str] = "cache_read"

    def apply(self, program: PrimFunc) -> PrimFunc:
        source = self._source(program)
        name = self.new_stage(program, self.copy or f"{self.buffer}_{self.scope.value}")
        copy = Buffer(name, source.shape, source.dtype, self.scope)
        if not self.readers:
            self.refuse("at least one reader is needed")
        for reader in self.readers:
            block = self.block_of(program.body, reader)
            if self.buffer not in read_by(block) or isinstance(block.body, Invoke):
                self.refuse(
                    f"{reader} does not read {self.buffer}, or reads it through an intrinsic"
                )
            if self.buffer in written_by(block):
                self.refuse(f"{reader} reads {self.buffer} to update it")
        for writer in blocks(program.body):
            axes = tuple(axis.var for axis in writer.axes(IterKind.SPATIAL))
            for store in writes(writer):
                if store.buffer == source and store.indices != axes:
                    self.refuse(f"{self.buffer} has another layout: cache_read before set_layout")

        def use_copy(block: Block) -> Block:
            if block.name not in self.readers:
                return block
            return replace(block, body=map_buffers(block.body, {self.buffer: copy}))

        body = map_blocks(program.body, use_copy)
        indices = tuple(Var(f"d{number}") for number in range(len(source.shape)))
        new = stage_nest(Store(copy, indices, Load(source, indices)))

        def with_copy(inner: Stmt) -> Stmt:
            return Alloc(copy, insert_before(inner, new, name))

        if self.buffer not in allocated(body):
            return replace(program, body=with_copy(body))
        allocation = next(each for each in allocations(body) if each.buffer == source)
        placed = replace(allocation, body=with_copy(allocation.body))
        cached = replace(program, body=replace_stmt(body, allocation, placed))
        around = loops_on_path(path_to(body, allocation))
        if not around:
            return cached
        # A buffer computed in a loop holds only a box: copy the box that is read in that loop.
        return ComputeAt(name, *LoopRef.of(around[-1])).apply(cached)

    def _source(self, program: PrimFunc) -> Buffer:
        known = {each.name: each for each in buffers_in(program)}
        if self.buffer not in known:
            self.refuse(f"there is no buffer {self.buffer}")
        return known[self.buffer]


@dataclass(frozen=True, slots=True)
class CacheWrite(Primitive):
    """Make a stage compute into another memory, and a new stage of its name copy the result.

                                             alloc C_local: float32[8] @local
                                             for C_local.i in 8:
        for C.i in 8:                          block C_local(i = C_local.i):
          block C(i = C.i):           ->         C_local[i] = ...
            C[i] = ...                       for C.i in 8:
                                               block C(i = C.i):
                                                 C[i] = C_local[i]

    Afterwards schedule C, and compute C_local at one of its loops. (TVM: `cache_write`.)

    Parameters
    ----------
    copy
        Name of the new buffer and of the stage that computes it; `stage_scope` by default.
    """

    stage: str
    scope: Scope
    copy: str = ""

    name: ClassVar[str] = "cache_write"

    def apply(self, program: PrimFunc) -> PrimFunc:
        block = self.block_of(program.body, self.stage)
        store = block.body
        elements = tuple(axis.var for axis in block.axes(IterKind.SPATIAL))
        if not isinstance(store, Store) or store.indices != elements:
            self.refuse(
                f"{self.stage} is tensorized or has another layout: cache_write comes first"
            )
        if block.axes(IterKind.REDUCE) and block.init is None:
            self.refuse(f"{self.stage} is decomposed: cache_write comes first")
        target = store.buffer
        self.require_only_writer(program.body, block, target.name)
        name = self.new_stage(program, self.copy or f"{self.stage}_{self.scope.value}")
        local = Buffer(name, target.shape, target.dtype, self.scope)
        old = self.own_nest(program.body, block)

        computing = rename_loops(old, lambda loop: LoopRef(name, LoopRef.of(loop).axis).name)
        computing = map_buffers(computing, {target.name: local})
        computing = map_blocks(computing, lambda block: replace(block, name=name))
        path = path_to(program.body, block)
        around = loops_on_path(path_to(program.body, old)[:-1])
        copying = element_nest(
            self.stage,
            block,
            loops_on_path(path)[len(around) :],
            around,
            Store(target, elements, Load(local, elements)),
        )
        new = Alloc(local, Seq((computing, copying)))
        return replace(program, body=replace_stmt(program.body, old, new))

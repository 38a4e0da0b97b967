"""cache_write: a stage computes into a buffer of its own, which is copied when done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.buffer import Buffer, Scope
from compiler.ir.expr import Load
from compiler.ir.stmt import Alloc, Function, IterKind, Seq, Store
from compiler.te.build import loop_name
from compiler.te.primitives.base import Primitive
from compiler.te.primitives.nests import element_nest, own_nest
from compiler.te.tree import (
    loops_among,
    map_blocks,
    map_buffers,
    path_to,
    rename_loops,
    replace_stmt,
)

__all__ = ["CacheWrite"]


@dataclass(frozen=True, slots=True)
class CacheWrite(Primitive):
    """Let a stage compute into another memory, and a new stage of its name copy the result.

                                             alloc C_local: float32[8] @local
                                             for C_local.i in 8:
        for C.i in 8:                          block C_local(i = C_local.i):
          block C(i = C.i):           ->         C_local[i] = ...
            C[i] = ...                       for C.i in 8:
                                               block C(i = C.i):
                                                 C[i] = C_local[i]

    Then schedule C, and compute C_local at one of its loops. (TVM: `cache_write`.)

    Parameters
    ----------
    copy
        Name of the new buffer and the stage that computes it; by default the stage's and the
        scope's.
    """

    stage: str
    scope: Scope
    copy: str = ""

    name: ClassVar[str] = "cache_write"

    def apply(self, program: Function) -> Function:
        """See the class."""
        block = self.block_of(program.body, self.stage)
        store = block.body
        spatial = tuple(each for each in block.iters if each.kind is IterKind.SPATIAL)
        if not isinstance(store, Store) or store.indices != tuple(each.var for each in spatial):
            self.refuse(
                f"{self.stage} is tensorized or has another layout: cache_write comes first"
            )
        if len(spatial) < len(block.iters) and block.init is None:
            self.refuse(f"{self.stage} is decomposed: cache_write comes first")
        target = store.buffer
        self.only_writer(program.body, block, target.name)
        name = self.new_stage(program, self.copy or f"{self.stage}_{self.scope.value}")
        local = Buffer(name, target.shape, target.dtype, self.scope)
        old = own_nest(self, program.body, block)

        computing = rename_loops(old, lambda loop: loop_name(name, loop.partition(".")[2]))
        computing = map_buffers(computing, {target.name: local})
        computing = map_blocks(computing, lambda each: replace(each, name=name))
        elements = tuple(each.var for each in spatial)
        path = path_to(program.body, block)
        around = loops_among(path_to(program.body, old)[:-1])
        copying = element_nest(
            self.stage,
            block,
            loops_among(path)[len(around) :],
            around,
            Store(target, elements, Load(local, elements)),
        )
        new = Alloc(local, Seq((computing, copying)))
        return replace(program, body=replace_stmt(program.body, old, new))

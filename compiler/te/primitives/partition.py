"""partition: a loop becomes two consecutive loops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import index, not_equal
from tandem.compiler.ir.prove import prove
from tandem.compiler.ir.stmt import Block, For, IterKind, PrimFunc, Stmt
from tandem.compiler.ir.visit import blocks, map_children, sequence, substitute_in
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tree import (
    LoopRef,
    allocated,
    extent_of,
    loops_on_path,
    map_blocks,
    map_buffers,
    path_to,
    ranges_of,
    rename_loops,
    replace_loop,
)


@dataclass(frozen=True, slots=True)
class Partition(Primitive):
    """Peel off the last iterations of a loop, from iteration `at` on.

        for C.i_o in 4:                       for C.i_o in 3:
          for C.i_i in 16:                      for C.i_i in 16:
            block C(i = C.i_o * 16 + C.i_i):      block C(i = C.i_o * 16 + C.i_i): ...
              where C.i_o * 16 + C.i_i < 50  -> for C_tail.i_o in 1:
              ...                               for C_tail.i_i in 16:
                                                  block C_tail(i = ...):
                                                    where 48 + C_tail.i_i < 50

    Drops guards that are always true within a partition, and reduction initialisers that the
    partition never executes. Stages, loops and buffers in the second partition get the suffix.
    Iterations keep their order: always legal. (Halide: loop partitioning; Exo: `cut_loop`.)
    """

    stage: str
    axis: str
    at: int
    suffix: str = "tail"

    name: ClassVar[str] = "partition"

    def apply(self, program: PrimFunc) -> PrimFunc:
        at = self.require_positive(self.at, "at")
        loop = self.require_serial(self.loop(program.body, self.stage, self.axis))
        extent = extent_of(loop)
        if at >= extent:
            self.refuse(f"{loop.var.name} has {extent} iterations: at must be less")
        around = ranges_of(loops_on_path(path_to(program.body, loop))[:-1])
        for stage in {each.name for each in blocks(loop)} | set(allocated(loop)):
            self.new_stage(program, f"{stage}_{self.suffix}")
        head = replace(loop, extent=index(at))
        tail = self._copy(loop, at, extent)
        parts = sequence(_specialised(head, around), _specialised(tail, around))
        return replace(program, body=replace_loop(program.body, loop.var.name, lambda _: parts))

    def _copy(self, loop: For, at: int, extent: int) -> Stmt:
        moved = substitute_in(loop.body, {loop.var.name: loop.var + at})
        body: Stmt = For(loop.var, index(extent - at), loop.kind, moved)

        def renamed(name: str) -> str:
            stage, axis = LoopRef.of(name)
            return LoopRef(f"{stage}_{self.suffix}", axis).name

        buffers = {
            name: replace(buffer, name=f"{name}_{self.suffix}")
            for name, buffer in allocated(loop).items()
        }
        body = map_buffers(rename_loops(body, renamed), buffers)
        return map_blocks(body, lambda block: replace(block, name=f"{block.name}_{self.suffix}"))


def _specialised(stmt: Stmt, ranges: dict[str, Interval]) -> Stmt:
    """Drop guards that are always true and initialisers that are never executed."""
    match stmt:
        case For():
            ranges = ranges | ranges_of((stmt,))
        case Block(guard=guard):
            left = tuple(test for test in guard if not prove(test, ranges))
            reduced = stmt.axes(IterKind.REDUCE)
            never = any(prove(not_equal(axis.value, 0), ranges) for axis in reduced)
            return replace(stmt, guard=left, init=None if never else stmt.init)
        case _:
            pass
    return map_children(stmt, lambda child: _specialised(child, ranges))

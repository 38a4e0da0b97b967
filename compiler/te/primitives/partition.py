"""partition: a loop becomes two, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from compiler.ir.interval import Interval
from compiler.ir.ops import index, not_equal
from compiler.ir.prove import prove
from compiler.ir.stmt import Block, For, Function, IterKind, Stmt
from compiler.ir.visit import blocks, map_children, sequence, substitute_in
from compiler.te.build import loop_name
from compiler.te.primitives.base import Primitive
from compiler.te.tree import (
    allocated,
    extent_of,
    loops_among,
    map_blocks,
    map_buffers,
    path_to,
    ranges_of,
    rename_loops,
    replace_loop,
)

__all__ = ["Partition"]


@dataclass(frozen=True, slots=True)
class Partition(Primitive):
    """Peel the last turns of a loop off, from turn `at` on.

        for C.i_o in 4:                       for C.i_o in 3:
          for C.i_i in 16:                      for C.i_i in 16:
            block C(i = C.i_o * 16 + C.i_i):      block C(i = C.i_o * 16 + C.i_i): ...
              where C.i_o * 16 + C.i_i < 50  -> for C_tail.i_o in 1:
              ...                               for C_tail.i_i in 16:
                                                  block C_tail(i = ...):
                                                    where 48 + C_tail.i_i < 50

    Guards that hold in all turns of a part are left out there, and starts of sums that never come.
    Stages, loops and buffers in the
    second part get the suffix. Turns keep their order: always legal. (Halide: loop partitioning;
    Exo: `cut_loop`.)
    """

    stage: str
    axis: str
    at: int
    suffix: str = "tail"

    name: ClassVar[str] = "partition"

    def apply(self, program: Function) -> Function:
        """See the class."""
        at = self.positive(self.at, "at")
        loop = self.serial(self.loop(program.body, self.stage, self.axis))
        extent = extent_of(loop)
        if at >= extent:
            self.refuse(f"{loop.var.name} has {extent} turns: at must be less")
        around = ranges_of(loops_among(path_to(program.body, loop))[:-1])
        for stage in {each.name for each in blocks(loop)} | set(allocated(loop)):
            self.new_stage(program, f"{stage}_{self.suffix}")
        head = replace(loop, extent=index(at))
        tail = self._copy(loop, at, extent)

        parts = sequence(_without_guards(head, around), _without_guards(tail, around))
        return replace(program, body=replace_loop(program.body, loop.var.name, lambda _: parts))

    def _copy(self, loop: For, at: int, extent: int) -> Stmt:
        moved = substitute_in(loop.body, {loop.var.name: loop.var + at})
        body: Stmt = For(loop.var, index(extent - at), loop.kind, moved)

        def renamed(name: str) -> str:
            stage, _, axis = name.partition(".")
            return loop_name(f"{stage}_{self.suffix}", axis)

        buffers = {
            name: replace(buffer, name=f"{name}_{self.suffix}")
            for name, buffer in allocated(loop).items()
        }
        body = map_buffers(rename_loops(body, renamed), buffers)
        return map_blocks(body, lambda each: replace(each, name=f"{each.name}_{self.suffix}"))


def _without_guards(stmt: Stmt, ranges: dict[str, Interval]) -> Stmt:
    """Blocks without the conditions that always hold."""
    match stmt:
        case For(var=var):
            inside = {**ranges, var.name: Interval(0, extent_of(stmt) - 1)}
            return map_children(stmt, lambda each: _without_guards(each, inside))
        case Block(guard=guard):
            left = tuple(test for test in guard if not prove(test, ranges))
            starts = not any(
                each.kind is IterKind.REDUCE and prove(not_equal(each.value, 0), ranges)
                for each in stmt.iters
            )
            return replace(stmt, guard=left, init=stmt.init if starts else None)
        case _:
            return map_children(stmt, lambda each: _without_guards(each, ranges))

"""compute_at: a stage is computed where it is needed, as much of it as is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, cast

from compiler.ir.boxes import Box, NotABox, union
from compiler.ir.expr import Expr, Var
from compiler.ir.interval import Interval
from compiler.ir.ops import index
from compiler.ir.prove import prove
from compiler.ir.simplify import simplify
from compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    Function,
    IterKind,
    LoopKind,
    Stmt,
    Store,
)
from compiler.ir.visit import blocks
from compiler.te.build import loop_name, nest
from compiler.te.primitives.base import Primitive
from compiler.te.primitives.cover import boxes_of, common_guard, loads_of, not_covered
from compiler.te.primitives.nests import own_nest
from compiler.te.tree import (
    NOTHING,
    allocated,
    insert_before,
    loops_among,
    path_to,
    ranges_of,
    read_by,
    replace_loop,
    replace_stmt,
    without_alloc,
)

__all__ = ["ComputeAt"]


@dataclass(frozen=True, slots=True)
class ComputeAt(Primitive):
    """Compute a stage inside a loop of a reader, for that turn's needs only.

        alloc P: float32[66]
        for P.i in 66:                      for C.i_o in 4:
          block P(i = P.i):                   alloc P: float32[66]
            P[i] = ...                        for P.i in 18:
        for C.i_o in 4:               ->        block P(i = C.i_o * 16 + P.i):
          for C.i_i in 16:                        P[i] = ...
            block C(i = C.i_o * 16 + C.i_i):  for C.i_i in 16:
              C[i] = P[i] + P[i + 2]            block C(i = C.i_o * 16 + C.i_i):
                                                  C[i] = P[i] + P[i + 2]

    The stage's loops are made anew, over the smallest box that holds what all its readers read in
    a turn; guards keep it within the buffer. The buffer keeps its shape here and shrinks to the
    box when the program is lowered. Refused for outputs, where a reader lies outside the loop, and
    where what is read is no box. (Halide, TVM: `compute_at`; TensorIR, section 3.2.)
    """

    stage: str
    reader: str
    axis: str

    name: ClassVar[str] = "compute_at"

    def apply(self, program: Function) -> Function:
        """See the class."""
        body = program.body
        block = self.block_of(body, self.stage)
        buffer = self._target(block)
        self.intermediate(body, buffer)
        self.only_writer(body, block, buffer)
        loop = self.loop(body, self.reader, self.axis)
        if loop.kind is LoopKind.VECTORIZED:
            self.refuse(
                f"{loop.var.name} is vectorized: each lane would need a {buffer} of its own"
            )
        old = own_nest(self, body, block)
        around = loops_among(path_to(body, loop))
        if path_to(old, loop):
            self.refuse(f"{loop.var.name} is one of its own loops")
        needed = self._needed(body, block, buffer, loop, around)
        # In turns of the loops around that no reader has, there is nothing to compute.
        guard = common_guard([each for each in blocks(body) if buffer in read_by(each)], around)
        new = self._nest(block, needed, ranges_of(around), guard)
        rest = replace_stmt(body, old, NOTHING)
        alloc = allocated(body)[buffer]

        def change(each: For) -> Stmt:
            return replace(each, body=Alloc(alloc, insert_before(each.body, new, buffer)))

        moved = replace_loop(without_alloc(rest, buffer), loop.var.name, change)
        lacking = not_covered(moved, self.stage)
        if lacking is not None:
            self.refuse(f"{lacking}: compute it at its place again afterwards, or inline it")
        return replace(program, body=moved)

    def _target(self, block: Block) -> str:
        if not isinstance(block.body, Store):
            self.refuse(f"{self.stage} is tensorized: compute_at comes before")
        reduced = any(each.kind is IterKind.REDUCE for each in block.iters)
        if reduced and block.init is None:
            self.refuse(f"{self.stage} is decomposed: compute_at comes before")
        return block.body.buffer.name

    def _needed(
        self, body: Stmt, block: Block, buffer: str, loop: For, around: tuple[For, ...]
    ) -> Box:
        """The box of the buffer that is read in one turn of the loop."""
        boxes = []
        outer = ranges_of(around)
        for reader in blocks(body):
            if buffer not in read_by(reader) or reader is block:
                continue
            path = path_to(loop, reader)
            if not path:
                self.refuse(f"{reader.name} reads {buffer} outside {loop.var.name}")
            if not isinstance(reader.body, Store):
                self.refuse(f"{reader.name} is tensorized: compute_at comes before")
            inner = ranges_of(loops_among(path)[1:])
            accesses = [load.indices for load in loads_of(reader, buffer)]
            try:
                boxes += boxes_of(reader, accesses, inner, outer, allocated(body)[buffer].shape)
            except NotABox as error:
                self.refuse(f"what is read of {buffer} is no box: {error}")
        if not boxes:
            self.refuse(f"nobody reads {buffer}")
        shape = [each.extent for each in block.iters if each.kind is IterKind.SPATIAL]
        return union(boxes, shape, outer)

    def _nest(
        self, block: Block, needed: Box, outer: dict[str, Interval], around: tuple[Expr, ...]
    ) -> Stmt:
        """The stage's loops over the box: its axes move, the block stays what it is."""
        store = block.body
        assert isinstance(store, Store)
        if store.indices != tuple(
            each.var for each in block.iters if each.kind is IterKind.SPATIAL
        ):
            self.refuse(
                f"{self.stage} does not write {store.buffer.name} at its axes: compute_at comes "
                f"before set_layout"
            )
        lower, shape = iter(needed.lower), iter(needed.shape)
        axes, iters, guard = [], [], list(around)
        for each in block.iters:
            axis = Var(loop_name(self.stage, each.var.name))
            extent, value = each.extent, cast(Expr, axis)
            if each.kind is IterKind.SPATIAL:
                extent = next(shape)
                ranges = {**outer, axis.name: Interval(0, extent - 1)}
                value = simplify(next(lower) + axis, ranges)
                conditions = (index(0) <= value, value < each.extent)
                guard += [test for test in conditions if not prove(test, ranges)]
            axes.append((each.var.name, extent))
            iters.append(replace(each, value=value))
        return nest(self.stage, axes, replace(block, iters=tuple(iters), guard=tuple(guard)))

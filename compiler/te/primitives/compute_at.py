"""compute_at: a stage is computed inside a loop of its reader, over the box that is read there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from tandem.compiler.ir.boxes import Box, UnboundedBoxError, box, union
from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.interval import Ranges
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.prove import prove
from tandem.compiler.ir.simplify import simplify
from tandem.compiler.ir.stmt import Alloc, Block, For, IterKind, LoopKind, PrimFunc, Stmt, Store
from tandem.compiler.ir.visit import blocks, reads, substitute, variables, writes
from tandem.compiler.te.build import nest
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.primitives.own_conditions import (
    LostConditionError,
    bounds_of_axes,
    canonical,
    own_conditions,
)
from tandem.compiler.te.tree import (
    NO_OP,
    LoopRef,
    allocated,
    allocations,
    find_block,
    insert_before,
    loops_on_path,
    path_to,
    ranges_of,
    read_by,
    replace_loop,
    replace_stmt,
    without_alloc,
    written_by,
)


@dataclass(frozen=True, slots=True)
class ComputeAt(Primitive):
    """Compute a stage inside a loop of a reader: only the elements that one iteration reads.

        alloc P: float32[66]
        for P.i in 66:                      for C.i_o in 4:
          block P(i = P.i):                   alloc P: float32[66]
            P[i] = ...                        for P.i in 18:
        for C.i_o in 4:               ->        block P(i = C.i_o * 16 + P.i):
          for C.i_i in 16:                        P[i] = ...
            block C(i = C.i_o * 16 + C.i_i):  for C.i_i in 16:
              C[i] = P[i] + P[i + 2]            block C(i = C.i_o * 16 + C.i_i):
                                                  C[i] = P[i] + P[i + 2]

    The stage gets new loops, over the smallest box that holds all reads of its readers in one
    iteration; guards keep the box within the buffer. The buffer keeps its shape here and shrinks to
    the box when the program is lowered. Refused for outputs, where a reader lies outside the loop,
    and where the reads have no bounding box. (Halide, TVM: `compute_at`; TensorIR, section 3.2.)
    """

    stage: str
    reader: str
    axis: str

    name: ClassVar[str] = "compute_at"

    def apply(self, program: PrimFunc) -> PrimFunc:
        body = program.body
        block = self.block_of(body, self.stage)
        buffer = self._target(block)
        self.require_intermediate(body, buffer)
        self.require_only_writer(body, block, buffer)
        loop = self.loop(body, self.reader, self.axis)
        if loop.kind is LoopKind.VECTORIZED:
            self.refuse(
                f"{loop.var.name} is vectorized: each lane would need a {buffer} of its own"
            )
        old = self.own_nest(body, block)
        around = loops_on_path(path_to(body, loop))
        if path_to(old, loop):
            self.refuse(f"{loop.var.name} is one of its own loops")
        needed = self._needed(body, block, buffer, loop, around)
        # Skip the stage in iterations of the loops around that run no reader.
        guard = _common_guard([each for each in blocks(body) if buffer in read_by(each)], around)
        kept = self._own_conditions(block, ranges_of(loops_on_path(path_to(old, block))))
        new = self._nest(block, needed, ranges_of(around), guard, kept)
        rest = replace_stmt(body, old, NO_OP)
        alloc = allocated(body)[buffer]

        def insert(loop: For) -> Stmt:
            return replace(loop, body=Alloc(alloc, insert_before(loop.body, new, buffer)))

        moved = replace_loop(without_alloc(rest, buffer), loop.var.name, insert)
        uncovered = _not_covered(moved, self.stage)
        if uncovered is not None:
            self.refuse(f"{uncovered}: compute that buffer at its place afterwards, or inline it")
        return replace(program, body=moved)

    def _target(self, block: Block) -> str:
        if not isinstance(block.body, Store):
            self.refuse(f"{self.stage} is tensorized: compute_at comes before")
        if block.axes(IterKind.REDUCE) and block.init is None:
            self.refuse(f"{self.stage} is decomposed: compute_at comes before")
        return block.body.buffer.name

    def _needed(
        self, body: Stmt, block: Block, buffer: str, loop: For, around: tuple[For, ...]
    ) -> Box:
        """The box of the buffer that is read in one iteration of the loop."""
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
            inner = ranges_of(loops_on_path(path)[1:])
            accesses = [load.indices for load in _loads_of(reader, buffer)]
            try:
                boxes += _boxes_of(reader, accesses, inner, outer, allocated(body)[buffer].shape)
            except UnboundedBoxError as error:
                self.refuse(f"what is read of {buffer} is no box: {error}")
        if not boxes:
            self.refuse(f"no block reads {buffer}")
        shape = [axis.extent for axis in block.axes(IterKind.SPATIAL)]
        return union(boxes, shape, outer)

    def _own_conditions(self, block: Block, loops: Ranges) -> tuple[Expr, ...]:
        try:
            return own_conditions(block, loops.keys())
        except LostConditionError as error:
            self.refuse(f"{self.stage} is computed where {error}: compute_at comes before split")

    def _nest(
        self,
        block: Block,
        needed: Box,
        outer: dict[str, Interval],
        around: tuple[Expr, ...],
        kept: tuple[Expr, ...],
    ) -> Stmt:
        """The stage's new loops over the box: the axes get new values, the block's body stays."""
        store = block.body
        assert isinstance(store, Store)
        if store.indices != tuple(axis.var for axis in block.axes(IterKind.SPATIAL)):
            self.refuse(
                f"{self.stage} does not write {store.buffer.name} at its axes: compute_at comes "
                f"before set_layout"
            )
        lower, shape = iter(needed.lower), iter(needed.shape)
        axes, iters, guard = [], [], list(around)
        values: dict[str, Expr] = {}
        for axis in block.iters:
            var = LoopRef(self.stage, axis.var.name).var
            extent, value = axis.extent, cast(Expr, var)
            if axis.kind is IterKind.SPATIAL:
                extent = next(shape)
                ranges = {**outer, var.name: Interval(0, extent - 1)}
                value = simplify(next(lower) + var, ranges)
                conditions = (index(0) <= value, value < axis.extent)
                guard += [test for test in conditions if not prove(test, ranges)]
            if isinstance(axis.value, Var):
                values[axis.value.name] = value
            axes.append((axis.var.name, extent))
            iters.append(replace(axis, value=value))
        guard += [substitute(test, values) for test in kept]
        return nest(self.stage, axes, replace(block, iters=tuple(iters), guard=tuple(guard)))


def _common_guard(readers: Sequence[Block], around: Sequence[For]) -> tuple[Expr, ...]:
    """The conditions on the loops around that all readers share."""
    names = {each.var.name for each in around}
    first, *others = readers
    return tuple(
        test
        for test in first.guard
        if variables(test) <= names and all(test in each.guard for each in others)
    )


def _not_covered(body: Stmt, stage: str) -> str | None:
    """A message for a stage that reads outside the computed box of a buffer; None if all reads fit.

    A stage that is computed inside a loop computes only a box of its buffer.
    """
    block = find_block(body, stage)
    assert block is not None
    for alloc in allocations(body):
        name = alloc.buffer.name
        if name in written_by(block) or name not in read_by(block):
            continue
        outer = loops_on_path(path_to(body, alloc))
        loads = _loads_of(block, name)
        path = path_to(alloc, block)
        if not outer or not loads or not path:
            continue
        accesses, inner = [each.indices for each in loads], ranges_of(loops_on_path(path))
        read = _boxes_of(block, accesses, inner, ranges_of(outer), alloc.buffer.shape)
        writers = [each for each in blocks(alloc) if name in written_by(each) and each is not block]
        if not any(_covers(each, read, block, alloc, outer) for each in writers):
            return (
                f"{stage} would read more of {name} than is computed of it in {outer[-1].var.name}"
            )
    return None


def _loads_of(block: Block, buffer: str) -> list[Load]:
    """A block's loads of a buffer."""
    return [load for load in reads(block) if load.buffer.name == buffer]


def _boxes_of(
    block: Block,
    accesses: Sequence[tuple[Expr, ...]],
    inner: Ranges,
    outer: Ranges,
    shape: Sequence[int],
) -> list[Box]:
    """The boxes of a buffer that a block's accesses, in terms of its axes, touch in all iterations
    of the inner loops (`ir.boxes.box`)."""
    values = {axis.var.name: axis.value for axis in block.iters}
    return [
        box([substitute(expr, values) for expr in indices], inner, outer, shape)
        for indices in accesses
    ]


def _covers(
    writer: Block, read: list[Box], reader: Block, alloc: Alloc, outer: tuple[For, ...]
) -> bool:
    """Whether a block writes all boxes in `read`, in every iteration that runs the reader."""
    inner = ranges_of(loops_on_path(path_to(alloc, writer)))
    shape_tests = bounds_of_axes(writer)
    for test in writer.guard:
        shared = test in reader.guard and not variables(test) & inner.keys()
        if not shared and canonical(test) not in shape_tests:
            return False
    stores = [each.indices for each in writes(writer)]
    if not stores:
        return False
    ranges = ranges_of(outer)
    (written,) = _boxes_of(writer, stores[-1:], inner, ranges, alloc.buffer.shape)
    return all(_within(each, written, alloc, ranges) for each in read)


def _within(read: Box, written: Box, alloc: Alloc, ranges: dict[str, Interval]) -> bool:
    return all(
        length >= extent
        or (prove(begin <= low, ranges) and prove(low + size <= begin + length, ranges))
        for low, size, begin, length, extent in zip(
            read.lower, read.shape, written.lower, written.shape, alloc.buffer.shape, strict=True
        )
    )

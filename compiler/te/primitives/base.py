"""The base class of the primitives, and loop nests that several primitives build."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, NoReturn

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import BOOL
from tandem.compiler.ir.expr import Const, Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.simplify import simplify
from tandem.compiler.ir.stmt import Block, For, IterKind, LoopKind, PrimFunc, Stmt
from tandem.compiler.ir.visit import blocks, buffers_in, substitute
from tandem.compiler.te.dependences import axis_kinds
from tandem.compiler.te.tree import (
    LoopRef,
    allocated,
    axes_of,
    find_block,
    find_loop,
    loops_on_path,
    path_to,
    ranges_of,
    written_by,
)


@dataclass(frozen=True, slots=True)
class Primitive(ABC):
    """A program transformation that keeps the result.

    The fields of a primitive are what a trace stores. `apply` raises a `ScheduleError`, which names
    loops and numbers, unless it can show that the result stays the same.
    """

    name: ClassVar[str]

    @abstractmethod
    def apply(self, program: PrimFunc) -> PrimFunc:
        """Return the program after this step."""

    def __str__(self) -> str:
        shown = []
        for field in fields(self):
            value = getattr(self, field.name)
            match value:
                case () | "" | False | None:
                    pass  # the default
                case Scope(value=name):
                    shown.append(name)
                case PrimFunc(name=name):
                    shown.append(name)
                case tuple():
                    shown.append(f"({', '.join(str(each) for each in value)})")
                case _ if field.kw_only:
                    shown.append(f"{field.name}={value}")
                case _:
                    shown.append(str(value))
        return f"{self.name}({', '.join(shown)})"

    def refuse(self, reason: str) -> NoReturn:
        """Raise a `ScheduleError` of this primitive."""
        raise ScheduleError(str(self), reason)

    def require_positive(self, value: int, what: str) -> int:
        """Return a number; refuse unless it is 1 or more."""
        if value < 1:
            self.refuse(f"{what} is {value}: it must be 1 or more")
        return value

    def block_of(self, body: Stmt, stage: str) -> Block:
        """Return the block of a stage."""
        block = find_block(body, stage)
        if block is None:
            self.refuse(f"there is no stage {stage}")
        return block

    def loop(self, body: Stmt, stage: str, axis: str) -> For:
        """Return a loop of a stage."""
        loop = find_loop(body, LoopRef(stage, axis).name)
        if loop is None:
            axes = axes_of(body, stage)
            if not axes:
                self.block_of(body, stage)
            self.refuse(f"{stage} has no loop {axis}; its loops are {', '.join(axes) or 'none'}")
        return loop

    def require_serial(self, loop: For) -> For:
        """Return the loop, which must not be bound to threads or lanes."""
        if loop.kind is not LoopKind.SERIAL:
            self.refuse(f"loop {loop.var.name} is {loop.kind.value} already")
        return loop

    def require_intermediate(self, body: Stmt, buffer: str) -> Buffer:
        """Return a buffer, which the program has to allocate itself."""
        if buffer not in allocated(body):
            self.refuse(f"{buffer} is an input or an output, not an intermediate buffer")
        return allocated(body)[buffer]

    def require_only_writer(self, body: Stmt, block: Block, buffer: str) -> None:
        """Refuse unless the block alone writes the buffer."""
        others = [
            other.name
            for other in blocks(body)
            if other is not block and buffer in written_by(other)
        ]
        if others:
            self.refuse(f"{block.name} computes {buffer} only in part, {', '.join(others)} as well")

    def new_loop(self, body: Stmt, stage: str, axis: str, gone: Collection[str]) -> str:
        """Return the name of a new loop; the names of loops in `gone` may be reused."""
        name = LoopRef(stage, axis).name
        if not axis.isidentifier():
            self.refuse(f"{axis!r} is no name for an axis: letters, digits and _")
        if axis not in gone and find_loop(body, name) is not None:
            self.refuse(f"{stage} has a loop {axis} already")
        return name

    def new_stage(self, program: PrimFunc, stage: str) -> str:
        """Return the name of a new stage and buffer."""
        if not stage.isidentifier():
            self.refuse(f"{stage!r} is no name for a stage: letters, digits and _")
        taken = {each.name for each in buffers_in(program)}
        if stage in taken or find_block(program.body, stage) is not None:
            self.refuse(f"there is a {stage} already")
        return stage

    def own_nest(self, body: Stmt, block: Block) -> Stmt:
        """Return a stage's loop nest, which must not hold blocks of other stages."""
        loops = loops_on_path(path_to(body, block))
        nest = next((each for each in loops if LoopRef.of(each).stage == block.name), block)
        others = [each.name for each in blocks(nest) if each is not block]
        if others:
            self.refuse(f"{', '.join(others)} is computed inside the loops of {block.name}")
        return nest


def with_guard(block: Block, *conditions: Expr) -> Block:
    """Return the block with more conditions in its guard."""
    new = tuple(each for each in conditions if each not in block.guard)
    return Block(block.name, block.iters, block.guard + new, block.init, block.body)


def element_nest(
    stage: str, block: Block, inside: Sequence[For], around: Sequence[For], body: Stmt
) -> Stmt:
    """Return a nest that runs `body` once for each element that a block computes: the block's loops
    without its reduction loops.

    Parameters
    ----------
    stage
        Name of the new block and of its loops.
    inside
        The block's loops, which are copied.
    around
        The loops around `inside`.
    """
    kept: list[For] = []
    values: dict[str, Expr] = {}
    for loop in inside:
        if axis_kinds(loop.var.name, block) == {IterKind.SPATIAL}:
            var = LoopRef(stage, LoopRef.of(loop).axis).var
            values[loop.var.name] = var
            kept.append(replace(loop, var=var))
        else:
            values[loop.var.name] = index(0)
    ranges = ranges_of((*around, *kept))

    def moved(expr: Expr) -> Expr:
        return simplify(substitute(expr, values), ranges)

    iters = tuple(replace(axis, value=moved(axis.value)) for axis in block.axes(IterKind.SPATIAL))
    # Guards apply as in the first iteration of the reduction loops.
    guard = tuple(test for test in map(moved, block.guard) if test != Const(True, BOOL))
    nested: Stmt = Block(stage, iters, guard, None, body)
    for loop in reversed(kept):
        nested = replace(loop, body=nested)
    return nested

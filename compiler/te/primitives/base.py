"""What all primitives share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, fields
from enum import Enum
from typing import ClassVar, NoReturn

from compiler.errors import ScheduleError
from compiler.ir.expr import Expr
from compiler.ir.stmt import Block, For, Function, LoopKind, Stmt
from compiler.ir.visit import blocks, buffers_in
from compiler.te.build import loop_name
from compiler.te.tree import allocated, axes_of, block_called, loop_called, written_by

__all__ = ["Primitive", "guarded"]


@dataclass(frozen=True, slots=True)
class Primitive(ABC):
    """A step from a program to one that computes the same.

    Its fields are what a trace remembers. `apply` refuses, with a `ScheduleError` that names loops
    and numbers, whatever it cannot show to keep the result.
    """

    name: ClassVar[str]

    @abstractmethod
    def apply(self, program: Function) -> Function:
        """The program after this step."""

    def __str__(self) -> str:
        shown = []
        for field in fields(self):
            value = getattr(self, field.name)
            match value:
                case () | "" | False:
                    pass  # left as it is by default
                case Enum():
                    shown.append(str(value.value))
                case Function(name=name):
                    shown.append(name)
                case tuple():
                    shown.append(f"({', '.join(str(each) for each in value)})")
                case _ if field.kw_only:
                    shown.append(f"{field.name}={value}")
                case _:
                    shown.append(str(value))
        return f"{self.name}({', '.join(shown)})"

    def refuse(self, reason: str) -> NoReturn:
        """Raise the error."""
        raise ScheduleError(str(self), reason)

    def positive(self, value: int, what: str) -> int:
        """A number that must not be too small."""
        if value < 1:
            self.refuse(f"{what} is {value}: it must be 1 or more")
        return value

    def block_of(self, body: Stmt, stage: str) -> Block:
        """The block of a stage."""
        block = block_called(body, stage)
        if block is None:
            self.refuse(f"there is no stage {stage}")
        return block

    def loop(self, body: Stmt, stage: str, axis: str) -> For:
        """A loop of a stage."""
        loop = loop_called(body, loop_name(stage, axis))
        if loop is None:
            axes = axes_of(body, stage)
            if not axes:
                self.block_of(body, stage)
            self.refuse(f"{stage} has no loop {axis}; its loops are {', '.join(axes) or 'none'}")
        return loop

    def serial(self, loop: For) -> For:
        """The loop, which nobody may have bound to threads or lanes."""
        if loop.kind is not LoopKind.SERIAL:
            self.refuse(f"loop {loop.var.name} is {loop.kind.value} already")
        return loop

    def intermediate(self, body: Stmt, buffer: str) -> None:
        """Refuse unless the buffer is allocated by the program: nobody outside sees it."""
        if buffer not in allocated(body):
            self.refuse(f"{buffer} is an input or an output, which others see")

    def only_writer(self, body: Stmt, block: Block, buffer: str) -> None:
        """Refuse unless the block alone computes the buffer."""
        others = [
            each.name for each in blocks(body) if each is not block and buffer in written_by(each)
        ]
        if others:
            self.refuse(f"{block.name} computes {buffer} only in part, {', '.join(others)} as well")

    def new_loop(self, body: Stmt, stage: str, axis: str, gone: Collection[str]) -> str:
        """The name of a loop that is not there yet; names of the loops that `gone` lists are free
        again."""
        name = loop_name(stage, axis)
        if not axis.isidentifier():
            self.refuse(f"{axis!r} is no name for an axis: letters, digits and _")
        if axis not in gone and loop_called(body, name) is not None:
            self.refuse(f"{stage} has a loop {axis} already")
        return name

    def new_stage(self, program: Function, stage: str) -> str:
        """The name of a stage and buffer that is not there yet."""
        if not stage.isidentifier():
            self.refuse(f"{stage!r} is no name for a stage: letters, digits and _")
        taken = {each.name for each in buffers_in(program)}
        if stage in taken or block_called(program.body, stage) is not None:
            self.refuse(f"there is a {stage} already")
        return stage


def guarded(block: Block, *conditions: Expr) -> Block:
    """The block, left out wherever a condition does not hold."""
    new = tuple(each for each in conditions if each not in block.guard)
    return Block(block.name, block.iters, block.guard + new, block.init, block.body)

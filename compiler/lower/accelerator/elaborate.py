"""The program is run, with numbers for its loops: what comes out are commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from compiler.errors import LoweringError
from compiler.ir.buffer import Buffer, Scope
from compiler.ir.stmt import Alloc, Block, For, Function, If, Invoke, Seq, Stmt, Store
from compiler.lower.accelerator.commands import Command, Copy, Origin
from compiler.lower.accelerator.copies import CopyPlan
from compiler.lower.accelerator.forms import number
from compiler.lower.accelerator.instruction_nests import is_instruction, leaf, written_whole
from compiler.lower.accelerator.invocations import InvocationPlan
from compiler.lower.accelerator.nests import Nest
from compiler.lower.accelerator.onchip import ChipMemory
from compiler.lower.accelerator.rectangles import Piece, Zeros
from compiler.target import AcceleratorTarget
from hw.memories import MemoryId

__all__ = ["Dram", "elaborate"]


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn of the loops around a statement: their values by name, and as origins tell them."""

    env: dict[str, int]
    pairs: tuple[tuple[str, int], ...]

    def inside(self, name: str, value: int) -> _Turn:
        """A turn of one more loop."""
        return _Turn({**self.env, name: value}, (*self.pairs, (name, value)))


_Part: TypeAlias = Callable[[_Turn], Iterator[Command]]


@dataclass(frozen=True, slots=True)
class Dram:
    """Where things lie in DRAM, in bytes.

    Attributes
    ----------
    addresses
        By the names of a program's buffers.
    zeros, zero_bytes
        A page of zeros.
    """

    addresses: Mapping[str, int]
    zeros: int
    zero_bytes: int


def elaborate(
    function: Function, target: AcceleratorTarget, dram: Dram, chip: ChipMemory, title: str = ""
) -> Iterator[Command]:
    """The commands of a lowered program, in its order.

    Raises
    ------
    LoweringError
        For what the instruction set cannot express.
    CapacityError
        Where buffers do not fit.
    """
    for each in (*function.inputs, *function.outputs):
        given = each.scope is Scope.IMM and each not in function.outputs
        if each.scope is not Scope.GLOBAL and not given:
            raise LoweringError(
                f"{each.name} of {function.name} lies in {each.scope.value}: inputs lie in global "
                f"or imm, outputs in global"
            )
    return _Elaborator(function, target, dram, chip, title).part(function.body)(_Turn({}, ()))


class _Elaborator:
    def __init__(
        self,
        function: Function,
        target: AcceleratorTarget,
        dram: Dram,
        chip: ChipMemory,
        title: str,
    ) -> None:
        self._operator, self._target = title or function.name, target
        self._dram, self._chip = dram, chip
        self._bases: dict[str, int] = {}
        self._loose: set[str] = set()
        """Buffers of which no element is of use that the one copy into them leaves out."""

    def part(self, stmt: Stmt) -> _Part:
        """A function that yields a statement's commands."""
        if is_instruction(stmt):
            return self._instruction(stmt)
        match stmt:
            case Seq(body=body):
                parts = [self.part(each) for each in body]
                return lambda turn: (command for part in parts for command in part(turn))
            case For():
                return self._loop(stmt)
            case If(condition=condition, body=body):
                test, part = number(condition), self.part(body)
                return lambda turn: part(turn) if test(turn.env) else iter(())
            case Alloc(buffer=buffer, body=body):
                if written_whole(buffer, body):
                    self._loose.add(buffer.name)
                return self._alloc(buffer, self.part(body))
            case Store() | Invoke():
                raise AssertionError("an instruction")
            case Block():
                raise LoweringError(f"{stmt.name} is a block still: lower blocks first")
            case _:
                assert_never(stmt)

    def _loop(self, stmt: For) -> _Part:
        name, extent, part = stmt.var.name, number(stmt.extent), self.part(stmt.body)

        def run(turn: _Turn) -> Iterator[Command]:
            for value in range(extent(turn.env)):
                yield from part(turn.inside(name, value))

        return run

    def _alloc(self, buffer: Buffer, part: _Part) -> _Part:
        memory = self._target.memory(buffer.scope)

        def run(turn: _Turn) -> Iterator[Command]:
            if memory is None:
                yield from part(turn)
                return
            self._bases[buffer.name] = self._chip.allocate(memory, buffer)
            yield from part(turn)
            self._chip.release(memory)

        return run

    def _instruction(self, stmt: Stmt) -> _Part:
        inner = leaf(stmt)
        nest = Nest.of(stmt)
        if isinstance(inner, Invoke):
            plan = InvocationPlan.of(nest, self._target)
            stage = plan.output.name

            def run(turn: _Turn) -> Iterator[Command]:
                yield from plan.at(turn.env, self._bases, self._origin(stage, turn))

            return run
        copy = CopyPlan.of(nest, self._target.config)
        written = inner.buffer.name
        loose = written in self._loose

        def run_copy(turn: _Turn) -> Iterator[Command]:
            origin = self._origin(written, turn)
            for piece in copy.at(turn.env, loose=loose):
                yield from self._pieces(copy, piece, origin)

        return run_copy

    def _origin(self, stage: str, turn: _Turn) -> Origin:
        return Origin(self._operator, stage, turn.pairs)

    def _pieces(self, plan: CopyPlan, piece: Piece | Zeros, origin: Origin) -> Iterator[Command]:
        base = self._bases[plan.chip.name]
        if isinstance(piece, Piece):
            yield Copy(
                memory=plan.memory,
                sram=base + piece.sram,
                dram=self._element(plan.memory, plan.dram.name) + piece.dram,
                rows=piece.rows,
                columns=piece.columns,
                stride=piece.stride,
                pads=piece.pads,
                origin=origin,
            )
            return
        size = self._target.config.element_bytes(plan.memory)
        most = self._dram.zero_bytes // size
        at, left = base + piece.sram, piece.count
        while left:
            columns = min(left, most)
            rows = left // columns
            yield Copy(
                memory=plan.memory,
                sram=at,
                dram=self._dram.zeros // size,
                rows=rows,
                columns=columns,
                stride=0,
                origin=origin,
            )
            at, left = at + rows * columns, left - rows * columns

    def _element(self, memory: MemoryId, buffer: str) -> int:
        """Where a buffer begins in DRAM, in elements."""
        address = self._dram.addresses[buffer]
        size = self._target.config.element_bytes(memory)
        if address % size:
            raise LoweringError(
                f"{buffer} lies at {address:#x}, no multiple of the {size} bytes of an element of "
                f"{memory.name}"
            )
        return address // size

"""Elaboration: executes the loops of a lowered program with numbers, and emits commands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TypeAlias, assert_never

import numpy as np

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.stmt import Alloc, Block, For, If, Invoke, PrimFunc, Seq, Stmt, Store
from tandem.compiler.ir.visit import map_accesses_in
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.commands import (
    ZEROS,
    Command,
    Commands,
    Compute,
    Copy,
    Site,
)
from tandem.compiler.machines.accelerator.lower.copies import CopyPlan
from tandem.compiler.machines.accelerator.lower.first_terms import initialised
from tandem.compiler.machines.accelerator.lower.index_sums import function_of, values_of
from tandem.compiler.machines.accelerator.lower.instruction_nests import (
    Nest,
    is_instruction,
    written_whole,
)
from tandem.compiler.machines.accelerator.lower.invocations import InvocationPlan
from tandem.compiler.machines.accelerator.lower.onchip import ChipMemory, with_slots
from tandem.compiler.machines.accelerator.lower.rectangles import Rectangle
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.topology import MemoryId

_Env: TypeAlias = dict[str, int]
_Iterations: TypeAlias = tuple[tuple[str, int], ...]
_Part: TypeAlias = Callable[[_Env, _Iterations], None]
"""A function that appends a statement's commands; its arguments are the outer loops' values."""


def elaborate(
    function: PrimFunc, target: AcceleratorTarget, chip: ChipMemory, zero_bytes: int
) -> Commands:
    """The commands of a lowered program, in its order, independent of its tensors' addresses.

    Parameters
    ----------
    zero_bytes
        The size of the tensor `ZEROS` in bytes.

    Raises
    ------
    LoweringError
        If the instruction set cannot express the program.
    CapacityError
        If buffers do not fit on chip.
    """
    for buffer in (*function.inputs, *function.outputs):
        immediate = buffer.scope == OnChip.IMM and buffer not in function.outputs
        if buffer.scope != Scope.GLOBAL and not immediate:
            raise LoweringError(
                f"{buffer.name} of {function.name} lies in {buffer.scope.value}: inputs lie in "
                f"global or imm, outputs in global"
            )
    elaborator = _Elaborator(target, chip, zero_bytes)
    elaborator.part(function.body)({}, ())
    return elaborator.columns.commands()


@dataclass(slots=True)
class _Columns:
    """A builder of `Commands`: the columns as lists."""

    prototypes: dict[Command, int] = field(default_factory=dict)
    which: list[int] = field(default_factory=list)
    dram: list[int] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)

    def number(self, command: Command) -> int:
        """The index of a prototype; a new prototype is appended."""
        return self.prototypes.setdefault(command, len(self.prototypes))

    def commands(self) -> Commands:
        which, dram = (np.array(each, dtype=np.int64) for each in (self.which, self.dram))
        return Commands(tuple(self.prototypes), which, dram, tuple(self.sites))


class _Elaborator:
    def __init__(self, target: AcceleratorTarget, chip: ChipMemory, zero_bytes: int) -> None:
        self._target, self._chip, self._zero_bytes = target, chip, zero_bytes
        self.columns = _Columns()
        self._bases: dict[str, int] = {}
        self._loose: set[str] = set()
        """Buffers written by a single copy: elements that the copy leaves out are never read."""

    def part(self, stmt: Stmt) -> _Part:
        """The function that appends a statement's commands."""
        if is_instruction(stmt):
            return self._instruction(stmt)
        match stmt:
            case Seq(body=body):
                return self._sequence([self.part(each) for each in body])
            case For():
                return self._loop(stmt)
            case If(condition=condition, body=body):
                holds, part = function_of(condition), self.part(body)
                return lambda env, around: part(env, around) if holds(env) else None
            case Alloc(buffer=buffer, body=body):
                return self._alloc(buffer, body)
            case Store() | Invoke():
                raise AssertionError("an instruction")
            case Block():
                raise LoweringError(f"{stmt.name} is still a block: lower blocks first")
            case _:
                assert_never(stmt)

    def _sequence(self, parts: list[_Part]) -> _Part:
        def run(env: _Env, around: _Iterations) -> None:
            for part in parts:
                part(env, around)

        return run

    def _loop(self, stmt: For) -> _Part:
        name, extent, part = stmt.var.name, function_of(stmt.extent), self.part(stmt.body)

        def run(env: _Env, around: _Iterations) -> None:
            for value in range(extent(env)):
                env[name] = value
                part(env, (*around, (name, value)))
            env.pop(name, None)

        return run

    def _alloc(self, buffer: Buffer, body: Stmt) -> _Part:
        """Allocates the buffer now: its address depends only on the allocations around, and on the
        slot of its lifetime."""
        if written_whole(buffer, body):
            self._loose.add(buffer.name)
        memory = self._target.memory(buffer.scope)
        if memory is None:
            return self.part(body)
        slot = Var(f"{buffer.name}.slot")
        placed = with_slots(buffer)
        if placed is not buffer:
            body = map_accesses_in(
                body, {buffer.name}, lambda _, indices: (placed, (slot, *indices))
            )
        self._bases[buffer.name] = self._chip.allocate(memory, placed)
        part = self.part(body)
        self._chip.release(memory)
        return part if placed is buffer else _rotated(part, slot.name, buffer.slots)

    def _instruction(self, stmt: Stmt) -> _Part:
        nest = Nest.of(stmt)
        if isinstance(nest.leaf, Invoke):
            return self._invocation(nest)
        stage, copy = nest.leaf.buffer.name, CopyPlan.of(nest, self._target.config)
        copied = partial(self._copies, copy, stage in self._loose)
        return self._repeated(stage, copy.around, copy.offset, copied)

    def _invocation(self, nest: Nest) -> _Part:
        plan, bases = InvocationPlan.of(nest, self._target), self._bases
        if nest.first is None:
            invoked = partial(plan.at, bases=bases)
            return self._repeated(plan.output.name, plan.around, lambda env: (0, 0), invoked)
        first, features = InvocationPlan.of(nest.first, self._target), self._target.config.features
        key_of, known = values_of(first.around), dict[Hashable, list[Compute]]()
        joined = dict[tuple[int, int], Sequence[Command]]()

        def starts(env: _Env) -> list[Compute]:
            key = key_of(env)
            if key not in known:
                known[key] = first.at(env, bases)
                _check_once(plan.output, known[key])
            return known[key]

        def commands(env: _Env) -> Sequence[Command]:
            begin, terms = starts(env), plan.at(env, bases)
            # Plans keep their lists, and return the same ones for the same places.
            key = id(begin), id(terms)
            if key not in joined:
                joined[key] = initialised(begin, terms, features)
            return joined[key]

        # The first of several steps of a sum differs from the others in its initial values.
        return self._repeated(
            plan.output.name, plan.around, lambda env: (0, id(starts(env))), commands
        )

    def _repeated(
        self,
        stage: str,
        names: Sequence[str],
        offset: Callable[[_Env], tuple[int, Hashable]],
        commands: Callable[[_Env], Iterable[Command]],
    ) -> _Part:
        """A function that appends commands, and computes equal ones once for all iterations.

        Parameters
        ----------
        names
            Variables of the loops around on which the commands depend.
        offset
            Returns the elements to add to DRAM addresses and the rest, as `CopyPlan.offset`.
        """
        columns, key_of = self.columns, values_of(names)
        cache = dict[Hashable, list[tuple[int, int]]]()

        def run(env: _Env, around: _Iterations) -> None:
            elements, rest = offset(env)
            key = key_of(env), rest
            found = cache.get(key)
            if found is None:
                found = [(columns.number(each), _in_tensor(each)) for each in commands(env)]
                cache[key] = found
            site = stage, around
            for prototype, relative in found:
                columns.which.append(prototype)
                columns.dram.append(elements * relative)
                columns.sites.append(site)

        return run

    def _copies(self, plan: CopyPlan, loose: bool, env: _Env) -> Iterator[Copy]:
        base = self._bases[plan.chip.name]
        for piece in plan.at(env, loose=loose):
            if isinstance(piece, Rectangle):
                yield Copy(
                    memory=plan.memory,
                    sram=base + piece.sram,
                    dram=piece.dram,
                    rows=piece.rows,
                    columns=piece.columns,
                    stride=piece.stride,
                    pads=piece.pads,
                    tensor=plan.dram.name,
                )
            else:
                yield from self._zeros(plan.memory, base + piece.sram, piece.count)

    def _zeros(self, memory: MemoryId, at: int, left: int) -> Iterator[Copy]:
        """Copies of `left` zeros to the elements from `at`."""
        widest = self._zero_bytes // self._target.config.element_bytes(memory)
        while left:
            columns = min(left, widest)
            rows = left // columns
            yield Copy(
                memory=memory, sram=at, dram=0, rows=rows, columns=columns, stride=0, tensor=ZEROS
            )
            at, left = at + rows * columns, left - rows * columns


def _rotated(part: _Part, slot: str, slots: int) -> _Part:
    """A function that executes `part` with the variable `slot` one further each time."""
    lifetimes = count()

    def run(env: _Env, around: _Iterations) -> None:
        env[slot] = next(lifetimes) % slots
        part(env, around)
        del env[slot]

    return run


def _check_once(buffer: Buffer, starts: Sequence[Compute]) -> None:
    """Raises `LoweringError` if accumulators get initial values more than once: also after the
    first term, perhaps, which comes later in the commands."""
    whole = [each.indices("dst") for each in starts if not each.keeps]
    cleared = np.concatenate([np.zeros(0, np.int64), *whole])
    if len(np.unique(cleared)) < len(cleared):
        raise LoweringError(f"an instruction initialises elements of {buffer.name} more than once")


def _in_tensor(command: Command) -> bool:
    """Whether a command's DRAM address is relative to a buffer of the program."""
    return isinstance(command, Copy) and command.tensor != ZEROS

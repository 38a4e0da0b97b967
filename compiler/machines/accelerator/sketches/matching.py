"""Which instruction computes a stage: `tensorize`, which compares behaviours, is the judge.

Nothing here knows what an instruction is called or computes. It is tried on a copy of the schedule
in which operands lie where the instruction takes them, and which nobody sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from tandem.compiler.errors import LoweringError, ScheduleError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Cast, Const, Load
from tandem.compiler.ir.stmt import Block, IterKind, PrimFunc, Store, parameters
from tandem.compiler.ir.visit import expressions, loops, statements, subexpressions
from tandem.compiler.machines.accelerator.intrinsics.base import (
    BINARY,
    RequantiseStep,
    fill,
    immediate,
)
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import allocated, extent_of, find_block, read_by


@dataclass(frozen=True, slots=True)
class MatchedPass:
    """A stage behind the sums.

    Attributes
    ----------
    intrinsic
        What computes it; None of a LOAD into ACC.
    inputs
        The memories that the program's inputs are read from, by the inputs' names.
    leaves
        Whether results leave so, without a pass of the ALU.
    """

    stage: str
    intrinsic: PrimFunc | None
    inputs: Mapping[str, Scope]
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class MatchedSum:
    """A reduction that an instruction computes.

    Attributes
    ----------
    intrinsic, initialise
        What adds a term, and what writes the initial value.
    image, weight
        The buffers that it reads in INP and in WGT.
    term
        The axis of the terms of one instruction.
    """

    stage: str
    intrinsic: PrimFunc
    initialise: PrimFunc
    image: str
    weight: str
    term: str


def names_of(block: Block, kind: IterKind) -> tuple[str, ...]:
    """The names of a block's axes of a kind."""
    return tuple(axis.var.name for axis in block.axes(kind))


def matched_sums(start: Schedule, block: Block, machine: AcceleratorTarget) -> Iterator[MatchedSum]:
    """The ways in which instructions compute a reduction, whose last two axes are those of an
    accumulator."""
    if block.init is None or not isinstance(block.init, Store):
        return
    first = block.init.value
    if not isinstance(first, Const) or not isinstance(first.value, int):
        return
    try:
        initialise = fill(machine.config, first.value).function
    except LoweringError:
        return
    operands = sorted(read_by(block) - {block.name})
    spatial = names_of(block, IterKind.SPATIAL)
    extents = {axis.var.name: axis.extent for axis in block.iters}
    if len(operands) != 2 or len(spatial) < 2 or block.name not in allocated(start.program.body):
        return
    for instruction in machine.instructions:
        function = instruction.function
        if not any(each.scope == OnChip.WGT for each in parameters(function)):
            continue
        wanted = [extent_of(loop) for loop in loops(function.body)]
        for term in names_of(block, IterKind.REDUCE):
            if [extents[axis] for axis in (*spatial[-2:], term)] != wanted:
                continue
            for image, weight in (operands, operands[::-1]):
                found = MatchedSum(block.name, function, initialise, image, weight, term)
                if _computes(start, block, found):
                    yield found


def _computes(start: Schedule, block: Block, found: MatchedSum) -> bool:
    stage, axes = block.name, [axis.var.name for axis in block.iters]
    row, lane = names_of(block, IterKind.SPATIAL)[-2:]
    tile = row, lane, found.term
    try:
        steps = on_chip(start, stage, found.image, OnChip.INP)
        steps = on_chip(steps, stage, found.weight, OnChip.WGT).set_scope(stage, OnChip.ACC)
        steps = steps.reorder(stage, *(axis for axis in axes if axis not in tile), *tile)
        steps.tensorize(stage, row, found.intrinsic, found.initialise)
    except ScheduleError:
        return False
    return True


def on_chip(schedule: Schedule, reader: str, buffer: str, scope: Scope) -> Schedule:
    """A stage with an operand in an on-chip memory: the operand itself, or a copy of an input."""
    if buffer in allocated(schedule.program.body):
        return schedule.set_scope(buffer, scope)
    return schedule.cache_read(buffer, (reader,), scope)


def matched_pass(start: Schedule, block: Block, machine: AcceleratorTarget) -> MatchedPass | None:
    """The instruction that computes a stage without a reduction; None if there is none."""
    found = allocated(start.program.body)
    buffers = {each.name: each for each in start.program.inputs if each.name in read_by(block)}
    inputs = {name: each for name, each in buffers.items() if each.scope == Scope.GLOBAL}
    if block.name not in found:
        return None
    if _is_load(block, inputs):
        return MatchedPass(block.name, None, {})
    for function in _instructions(block, machine):
        wanted = parameters(function)
        options = [
            dict.fromkeys(one.scope for one in wanted if one.dtype == given.dtype and on(one.scope))
            for given in inputs.values()
        ]
        steps = machine.instruction(function.name).steps
        leaves = all(isinstance(step, RequantiseStep) for step in steps)
        for scopes in product(*options):
            where = dict(zip(inputs, scopes, strict=True))
            one = MatchedPass(block.name, function, where, leaves)
            if _passes(start, block, one):
                return one
    return None


def on(scope: Scope) -> bool:
    """Whether tensors are loaded into a scope."""
    return scope != OnChip.IMM


def _is_load(block: Block, inputs: Mapping[str, Buffer]) -> bool:
    """Whether a stage is a copy of an input, as a LOAD into ACC makes it."""
    stores = [stmt for stmt in statements(block.body) if isinstance(stmt, Store)]
    if len(stores) != 1:
        return False
    value = stores[0].value.operand if isinstance(stores[0].value, Cast) else stores[0].value
    return (
        isinstance(value, Load)
        and value.buffer.name in inputs
        and value.indices == stores[0].indices
    )


def _instructions(block: Block, machine: AcceleratorTarget) -> Iterator[PrimFunc]:
    """The machine's instructions, those of a block's own constants too."""
    yield from (each.function for each in machine.instructions)
    parts = {
        part
        for stmt in statements(block.body)
        for expr in expressions(stmt)
        for part in subexpressions(expr)
    }
    numbers = sorted({int(part.value) for part in parts if isinstance(part, Const)})
    for number in numbers:
        for op in BINARY:
            try:
                yield immediate(machine.config, op, number).function
            except LoweringError:
                continue


def _passes(start: Schedule, block: Block, found: MatchedPass) -> bool:
    assert found.intrinsic is not None, "an instruction"
    stage, row = block.name, names_of(block, IterKind.SPATIAL)[-2]
    try:
        steps = start.set_scope(stage, OnChip.ACC)
        for name in sorted(read_by(block) & allocated(start.program.body).keys()):
            steps = steps.set_scope(name, OnChip.ACC)
        for name, scope in found.inputs.items():
            steps = steps.cache_read(name, (stage,), scope)
        steps.tensorize(stage, row, found.intrinsic)
    except ScheduleError:
        return False
    return True


def block_called(program: PrimFunc, stage: str) -> Block:
    """The block of a stage, which exists."""
    block = find_block(program.body, stage)
    assert block is not None, stage
    return block

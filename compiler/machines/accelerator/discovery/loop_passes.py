"""The passes of the ALU in the loop programs of a network's layers, before elaboration: how many
vectors each of them takes, and what kind of pass it is.

A program is a kernel's loops around instructions. Its passes are counted as loops are executed, in
closed form where neither extents nor conditions depend on a loop. The count is that of the stream,
but on machines with extensions: these leave initial values out, and requantise with the last sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import prod

from tandem.compiler.ir.stmt import (
    Alloc,
    For,
    If,
    Invoke,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    parameters,
)
from tandem.compiler.ir.visit import variables
from tandem.compiler.machines.accelerator.intrinsics.base import AluStep, RequantiseStep
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.index_sums import function_of
from tandem.compiler.machines.accelerator.lower.instruction_nests import Nest, is_instruction
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.custom_operations import AnyOperation
from tandem.hw.operations import AluOp


class PassKind(Enum):
    """What a pass does to an accumulator."""

    NUMBER = "number"
    """It takes a number, or one for each channel, beside it."""
    ELEMENT = "element"
    """It takes another accumulator for each one."""
    TERM = "term"
    """It takes a term of a reduction: the accumulator is written once for each."""
    START = "start"
    """It is the initial value of a reduction."""
    COPY = "copy"
    """It is a copy, as the first operand is needed afterwards."""


@dataclass(frozen=True, slots=True)
class LoopPass:
    """A pass in a program.

    Attributes
    ----------
    op
        None of a requantisation by the output stage.
    target
        The buffer in ACC that it changes.
    source
        The buffer of its second operand; None of an immediate.
    vectors
        The accumulators, of all lanes, that it takes in a run of the program.
    """

    op: AnyOperation | None
    target: str
    source: str | None
    kind: PassKind
    vectors: int


def loop_passes(lowered: PrimFunc, machine: AcceleratorTarget) -> tuple[LoopPass, ...]:
    """The ALU's passes in a lowered program, in its order.

    Parameters
    ----------
    lowered
        Loops around instructions: what `accelerator_passes` make.

    Raises
    ------
    LoweringError
        A condition that is no comparison of sums of loops, or an instruction that the machine has
        not.
    """
    return tuple(
        made
        for nest, within in _nests(lowered.body, _Within())
        for part in (nest.first, nest)
        if part is not None and isinstance(part.leaf, Invoke)
        for made in _passes(part, part.leaf, within, machine)
    )


@dataclass(frozen=True, slots=True)
class _Within:
    """What is around an instruction: loops and conditions, outermost first, and for each buffer
    the loops inside of its allocation."""

    around: tuple[For | If, ...] = ()
    inside: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def loop(self, stmt: For) -> _Within:
        """In a loop."""
        inside = {name: own | {stmt.var.name} for name, own in self.inside.items()}
        return _Within((*self.around, stmt), inside)


def _nests(stmt: Stmt, within: _Within) -> Iterator[tuple[Nest, _Within]]:
    """Each instruction with what is around it."""
    if is_instruction(stmt):
        yield Nest.of(stmt), within
        return
    match stmt:
        case For(body=body):
            yield from _nests(body, within.loop(stmt))
        case If(body=body):
            yield from _nests(body, replace(within, around=(*within.around, stmt)))
        case Alloc(buffer=buffer, body=body):
            inside = {**within.inside, buffer.name: frozenset[str]()}
            yield from _nests(body, replace(within, inside=inside))
        case Seq(body=parts):
            for part in parts:
                yield from _nests(part, within)
        case _:
            raise AssertionError("lowered")


def _passes(
    nest: Nest, leaf: Invoke, within: _Within, machine: AcceleratorTarget
) -> Iterator[LoopPass]:
    """The passes of an instruction's steps, behind that of a copy if one is needed."""
    instruction = machine.instruction(leaf.intrinsic.name)
    function = instruction.function
    boxes = {
        own.name: given for own, given in zip(parameters(function), leaf.operands, strict=True)
    }
    (result,) = leaf.results
    target, vectors = result.buffer.name, _executed(nest, within)
    inside = within.inside.get(target, frozenset()) | nest.names
    along = _loops_of(result) & inside
    start = None if instruction.start is None else boxes[instruction.start]
    if start is not None and (start.buffer, start.lower) != (result.buffer, result.lower):
        # A RESET, which is none of the ALU's, and a pass that adds.
        yield LoopPass(AluOp.ADD, target, start.buffer.name, PassKind.COPY, vectors)
    for step in instruction.steps:
        match step:
            case AluStep(op=op, src=str(name)) if boxes[name].buffer.scope != OnChip.IMM:
                read = boxes[name]
                own = _loops_of(read) & inside
                kind = PassKind.ELEMENT if own >= along else PassKind.NUMBER
                if start is None:
                    kind = PassKind.COPY
                elif own - along:
                    kind = PassKind.TERM
                yield LoopPass(op, target, read.buffer.name, kind, vectors)
            case AluStep(op=op):
                kind = PassKind.NUMBER if function.inputs else PassKind.START
                yield LoopPass(op, target, None, kind, vectors)
            case RequantiseStep():
                yield LoopPass(None, target, None, PassKind.NUMBER, vectors)
            case _:
                pass  # GEMMs and resets are no passes of the ALU.


def _loops_of(box: Region) -> frozenset[str]:
    """The loops that lead to different elements of a buffer."""
    return frozenset[str]().union(*map(variables, box.lower))


def _executed(nest: Nest, within: _Within) -> int:
    """How often an instruction's micro-op is executed."""
    return _times(within.around, frozenset(nest.around), {}, nest)


def _times(
    around: Sequence[For | If], needed: frozenset[str], env: dict[str, int], nest: Nest
) -> int:
    """The same inside of the loops of which `env` has the values; `needed` has the loops that the
    nest's extents and conditions depend on."""
    if not around:
        return sum(prod(high - low for low, high in box.values()) for _, box in nest.boxes(env))
    first, rest = around[0], around[1:]
    if isinstance(first, If):
        return _times(rest, needed, env, nest) if function_of(first.condition)(env) else 0
    extent, name = function_of(first.extent)(env), first.var.name
    if name in needed | _read_by(rest):
        return sum(_times(rest, needed, {**env, name: at}, nest) for at in range(extent))
    return extent * _times(rest, needed, env, nest) if extent > 0 else 0


def _read_by(around: Sequence[For | If]) -> frozenset[str]:
    """The variables in extents and conditions."""
    read = (each.extent if isinstance(each, For) else each.condition for each in around)
    return frozenset[str]().union(*map(variables, read))

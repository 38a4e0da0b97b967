"""Memory of tensors: offsets in the frame of a function, and what devices keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import assert_never

from tandem.compiler.graph.memory import LiveRange, MemoryPlan, plan_memory
from tandem.compiler.graph.types import TensorType
from tandem.runtime.artifact import (
    Branch,
    BranchForm,
    CallFunction,
    Instruction,
    Jump,
    Kept,
    MakeCell,
    Move,
    MoveRow,
    ReadCell,
    Return,
    RunStep,
    Step,
    TailCall,
)
from tandem.runtime.native import ALIGNMENT


def plan_frame(
    instructions: Sequence[Instruction],
    steps: Sequence[Step],
    types: Mapping[str, TensorType],
    pinned: Collection[str],
) -> tuple[tuple[str, ...], MemoryPlan]:
    """The tensors of a frame, and their offsets.

    A tensor is live from the first instruction that names it to the last. That is enough: jumps go
    forwards, but for jumps to the beginning, which only parameters survive.

    Parameters
    ----------
    types
        The types of the tensors in the frame.
    pinned
        Tensors that are live all the time: parameters and results.
    """
    times: dict[str, list[int]] = {}
    for at, instruction in enumerate(instructions):
        for name in _operands(instruction, steps):
            times.setdefault(name, []).append(at)
    end = len(instructions)
    ranges = [
        LiveRange(
            name,
            prod(type_.stored.static_shape(name)) * type_.stored.dtype.numpy.itemsize,
            0 if name in pinned else times[name][0],
            end if name in pinned else times[name][-1],
        )
        for name, type_ in types.items()
        if name in pinned or name in times
    ]
    return tuple(each.name for each in ranges), plan_memory(ranges, ALIGNMENT)


def kept_tensors(
    steps: Sequence[Step], devices: Collection[str], others: Collection[str]
) -> dict[str, Kept]:
    """The tensors that can stay in a device's own memory: all steps that have them are its own.

    Parameters
    ----------
    devices
        The devices that have memory of their own.
    others
        Tensors that something else than a step reads or writes.
    """
    users: dict[str, set[str]] = {}
    written = {name for step in steps for name in step.outputs}
    for step in steps:
        for name in (*step.inputs, *step.outputs):
            users.setdefault(name, set()).add(step.device)
    return {
        name: Kept(*owners)
        for name, owners in users.items()
        if name in written and name not in others and len(owners) == 1 and owners <= {*devices}
    }


def moved_tensors(instructions: Iterable[Instruction], steps: Sequence[Step]) -> set[str]:
    """The tensors that instructions read or write other than by running steps."""
    moves = (each for each in instructions if not isinstance(each, RunStep))
    return {name for instruction in moves for name in _operands(instruction, steps)}


def _operands(instruction: Instruction, steps: Sequence[Step]) -> Iterator[str]:
    match instruction:
        case RunStep(step=number):
            yield from (*steps[number].inputs, *steps[number].outputs)
        case Move(source=source, target=target):
            yield from (source, target)
        case MoveRow(source=source, target=target, index=index):
            yield from (source, target, index)
        case Branch(condition=condition):
            yield condition
        case CallFunction(inputs=inputs, outputs=outputs):
            yield from (*inputs, *outputs)
        case TailCall(inputs=inputs):
            yield from inputs
        case MakeCell(fields=fields, target=target):
            yield from (*fields, target)
        case BranchForm(source=source):
            yield source
        case ReadCell(source=source, fields=fields):
            yield from (source, *fields)
        case Jump() | Return():
            pass
        case _:
            assert_never(instruction)

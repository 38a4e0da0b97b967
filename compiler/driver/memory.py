"""Memory of a function with control flow: offsets in its frame, from its instructions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import assert_never

from compiler.graph.memory import LiveRange, MemoryPlan, plan_memory
from compiler.graph.types import TensorType
from runtime.artifact import (
    Branch,
    CallFunction,
    Instruction,
    Jump,
    Move,
    Return,
    RunStep,
    Step,
    TailCall,
)
from runtime.native import ALIGNMENT


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


def _operands(instruction: Instruction, steps: Sequence[Step]) -> Iterator[str]:
    match instruction:
        case RunStep(step=number):
            yield from (*steps[number].inputs, *steps[number].outputs)
        case Move(source=source, target=target):
            yield from (source, target)
        case Branch(condition=condition):
            yield condition
        case CallFunction(inputs=inputs, outputs=outputs):
            yield from (*inputs, *outputs)
        case TailCall(inputs=inputs):
            yield from inputs
        case Jump() | Return():
            pass
        case _:
            assert_never(instruction)

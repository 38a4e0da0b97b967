"""Where and when the passes of an epilogue run: on a tile, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.intrinsics.accelerator import immediate, two_operands
from compiler.ir.buffer import Scope
from compiler.operators.accelerator.epilogue import Step, operand_stage, steps_of
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, Tensor

__all__ = ["OperandCounts", "all_steps", "place_passes", "tensorize_passes"]


@dataclass(frozen=True, slots=True)
class OperandCounts:
    """How many operands of passes lie in ACC.

    Attributes
    ----------
    channels
        Those with a number for each channel.
    elements
        Those with a number for each element.
    """

    channels: int
    elements: int

    @staticmethod
    def of(steps: Sequence[Step]) -> OperandCounts:
        """Of passes and of those on their operands."""
        every = [each for _, each in all_steps(steps) if isinstance(each.operand, Tensor)]
        channels = {each.operand for each in every if not each.whole}
        return OperandCounts(len(channels), sum(each.whole for each in every))


def place_passes(
    schedule: Schedule, steps: Sequence[Step], output: Tensor, *, resident: bool = True
) -> Schedule:
    """Each pass at the output's loop `thread`, its operand with it.

    Operands for each element are loaded with the tile that needs them; those for each channel once,
    in front of everything, or with `resident` False with the tile as well.
    """
    for stage in reversed(list(_stages(steps))):
        schedule = schedule.set_scope(stage, Scope.ACC).compute_at(stage, output.name, "thread")
    readers: dict[str, list[str]] = {}
    for stage, each in all_steps(steps):
        if isinstance(each.operand, Tensor) and not each.whole:
            readers.setdefault(each.operand.name, []).append(stage)
    for name, stages in readers.items():
        copy = f"{output.name}_{name}"
        schedule = schedule.cache_read(name, tuple(stages), Scope.ACC, copy)
        if not resident:
            schedule = schedule.compute_at(copy, output.name, "thread")
    return schedule


def tensorize_passes(
    schedule: Schedule, steps: Sequence[Step], target: AcceleratorTarget
) -> Schedule:
    """Each pass by the instruction of its operation. Comes last: then loops stay as they are."""
    for stage, each in all_steps(steps):
        if isinstance(each.operand, int):
            instruction = immediate(target.config, each.op, each.operand)
        else:
            instruction = two_operands(target.config, each.op)
        schedule = schedule.tensorize(stage, "b", instruction.function)
    return schedule


def all_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """The passes and those on their operands, in their order."""
    for stage, each in steps:
        yield from all_steps(steps_of(each.before, operand_stage(stage)))
        yield stage, each


def _stages(steps: Sequence[Step]) -> Iterator[str]:
    """All stages that make accumulators, each after what it reads."""
    for stage, each in steps:
        if each.whole:
            operand = operand_stage(stage)
            yield operand
            yield from _stages(steps_of(each.before, operand))
        yield stage

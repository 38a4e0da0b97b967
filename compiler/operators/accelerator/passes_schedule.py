"""Where and when the passes of an epilogue run: on a tile, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.intrinsics.accelerator import immediate, two_operands
from compiler.ir.buffer import Scope
from compiler.operators.accelerator.epilogue import Pass
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, Tensor

__all__ = ["place_passes", "tensorize_passes"]


def place_passes(
    schedule: Schedule, passes: Sequence[tuple[str, Pass]], output: Tensor
) -> Schedule:
    """Each pass at the output's loop `thread`, its operand with it.

    Numbers for each channel are loaded once, in front of everything; operands for each element with
    the tile that needs them.
    """
    for stage, _ in reversed(passes):
        schedule = schedule.set_scope(stage, Scope.ACC).compute_at(stage, output.name, "thread")
    readers: dict[str, list[str]] = {}
    operands: dict[str, Tensor] = {}
    for stage, each in passes:
        if isinstance(each.operand, Tensor):
            readers.setdefault(each.operand.name, []).append(stage)
            operands[each.operand.name] = each.operand
    for name, stages in readers.items():
        copy = f"{output.name}_{name}"
        schedule = schedule.cache_read(name, tuple(stages), Scope.ACC, copy)
        if len(operands[name].shape) > 3:
            schedule = schedule.compute_at(copy, output.name, "thread")
    return schedule


def tensorize_passes(
    schedule: Schedule, passes: Sequence[tuple[str, Pass]], target: AcceleratorTarget
) -> Schedule:
    """Each pass by the instruction of its operation. Comes last: then loops stay as they are."""
    for stage, each in passes:
        if isinstance(each.operand, int):
            instruction = immediate(target.config, each.op, each.operand)
        else:
            instruction = two_operands(target.config, each.op)
        schedule = schedule.tensorize(stage, "b", instruction.function)
    return schedule

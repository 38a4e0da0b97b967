"""Sketches on the accelerator: one's own expressions as tasks that `on_cycle` measures."""

from __future__ import annotations

from tandem.compiler.machines.accelerator.sketches.blocks import in_blocks
from tandem.compiler.machines.accelerator.sketches.search import sketch_target, sketch_task
from tandem.compiler.te import Tensor
from tandem.compiler.tune.tasks import Task
from tandem.workbench.devices import Accelerator


def expression_task(device: Accelerator, tensor: Tensor) -> Task:
    """The task of an expression in blocks.

    Raises
    ------
    Refusal
        The array does not compute it, or nothing of it fits on chip; says why.
    """
    target = device.target()
    expression = in_blocks(tensor, target.machine)
    return sketch_task(sketch_target(target), [tensor.name], expression.computation)

"""Sketches on the accelerator: layers and one's own expressions as tasks of `on_cycle`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.blocks import in_blocks
from tandem.compiler.machines.accelerator.sketches.layers import LayerSketch
from tandem.compiler.machines.accelerator.sketches.product import product_of
from tandem.compiler.machines.accelerator.sketches.search import sketch_target, sketch_task
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.plan.target import Target
from tandem.compiler.te import Tensor
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.template import DEFAULT
from tandem.compiler.tune.tasks import Task


@dataclass(frozen=True, eq=False)
class LayerTask(Task):
    """The computation of layers that have a template, to find sketches for.

    Its default is the template's schedule, which has no decisions of a sketch.

    Attributes
    ----------
    own
        The task of the template, with the choice that the layers are compiled with.
    """

    own: Task | None = None

    def knows(self, choice: Choice) -> bool:
        return choice == DEFAULT or super().knows(choice)


def expression_task(target: Target[AcceleratorTarget], tensor: Tensor) -> Task:
    """The task of an expression in blocks.

    Raises
    ------
    Refusal
        The array does not compute it, or nothing of it fits on chip; says why.
    """
    expression = in_blocks(tensor, target.machine)
    return sketch_task(sketch_target(target), [tensor.name], expression.computation)


def sketch_tasks(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The distinct computations of a network's tasks, of those that sketches schedule: products of
    templates, and what no template takes."""
    found: dict[Computation, Task] = {}
    for task in tasks:
        try:
            one = _sketch_task(task)
        except Refusal:
            continue  # No product, or one that sketches do not schedule: the template does.
        known = found.get(one.workload)
        if known is not None:
            one = replace(known, layers=(*known.layers, *one.layers))
        found[one.workload] = one
    return tuple(found.values())


def _sketch_task(task: Task) -> Task:
    """The task of sketches of a task of a template. Raises `Refusal` as `sketch_task`."""
    target: Target[Any] = task.target
    template, machine = task.template, target.machine
    if template is PRODUCT_SKETCHES:
        arguments = _timed(task.arguments, task.workload, machine)
        return sketch_task(sketch_target(target), task.layers, task.workload, arguments)
    assert isinstance(template, AcceleratorTemplate), "as all in the accelerator's table"
    if task.arguments.forms:
        raise Refusal(f"{task.name} has weights in a form of its own")
    sketch = LayerSketch.of(template.start(task.workload, machine).program)
    arguments = _timed(sketch.arguments(task.arguments), sketch.computation, machine)
    made = sketch_task(sketch_target(target), task.layers, sketch.computation, arguments)
    return LayerTask(
        layers=made.layers,
        target=made.target,
        template=made.template,
        workload=made.workload,
        arguments=made.arguments,
        default=DEFAULT,
        joined=task.joined,
        own=task,
    )


def _timed(given: Arguments, computation: Computation, machine: AcceleratorTarget) -> Arguments:
    """The arguments without the weights, on which no time depends."""
    weight = product_of(computation, machine).sums.weight
    tensors = {name: value for name, value in given.tensors.items() if name != weight}
    return replace(given, tensors=tensors)

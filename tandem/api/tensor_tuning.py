"""One's own operator, a tensor of `tandem.te`, as a task of the tuner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tandem.compiler.te import Schedule, Tensor
from tandem.compiler.te.build import program_of
from tandem.compiler.tune.decision import decide_tasks
from tandem.compiler.tune.records import Record, append_records
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.tasks import Task
from tandem.workbench.devices import Accelerator, Cpu, TargetDevice
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError
from tandem.workbench.measurers.compared_on_cpu import compared_alone
from tandem.workbench.measurers.sketches_on_cpu import SketchTask, sketch_task
from tandem.workbench.measurers.sketches_on_cycle import expression_task
from tandem.workbench.tuning import TunedTasks


def tensor_task(
    device: TargetDevice, tensor: Tensor, constants: Sequence[Tensor], reassociate: bool
) -> Task:
    """The task of a tensor's computation.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        A constant is no placeholder that the tensor is computed from, or the tensor is one itself;
        an accelerator adds no floats.
    Refusal
        An accelerator does not compute it.
    """
    if tensor.source is None:
        raise ArgumentValueError(f"{tensor.name} is a placeholder: nothing is computed")
    program = program_of([tensor])
    names = [each.name for each in program.inputs]
    positions = []
    for constant in constants:
        if not isinstance(constant, Tensor):
            raise ArgumentTypeError(f"constants has {constant!r}: placeholders of te are expected")
        if constant.name not in names:
            raise ArgumentValueError(
                f"constants has {constant.name}: {tensor.name} reads {', '.join(names)}"
            )
        positions.append(names.index(constant.name))
    if isinstance(device, Accelerator):
        if reassociate:
            raise ArgumentValueError("reassociate is of floats, which an accelerator does not add")
        return expression_task(device.target(), tensor)
    assert isinstance(device, Cpu), "there are sketches"
    computation = Computation.of(program, positions, reassociate=reassociate)
    return sketch_task(device.machine, [tensor.name], computation)


def decided_alone(
    device: Cpu,
    done: Sequence[TaskTuning],
    known: Sequence[Record],
    new: Sequence[Record],
    file: Path | None,
) -> TunedTasks:
    """What tuning came to, decided by a comparison with the default schedule; new decisions are
    appended to the file."""
    decisions = decide_tasks(done, device.identity, known, new, compared_alone(device.machine))
    if file is not None:
        append_records(file, decisions.fresh)
    return TunedTasks.of(done, decisions)


def schedule_of(tuned: TunedTasks) -> Schedule | None:
    """The schedule that is kept of the only task."""
    (done,) = tuned.tasks
    task, choice = done.task, done.tuning.choice
    if tuned.decisions is not None:
        choice = tuned.decisions.tasks[0].choice
    if choice is None:
        return None
    if isinstance(task, SketchTask):
        return task.schedule(choice)
    return task.template.schedule(task.workload, choice, task.target.machine)

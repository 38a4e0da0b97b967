"""Sketches on this processor: tasks, what measures them, and what proposes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tandem.compiler.errors import ReplayError, ScheduleError
from tandem.compiler.graph.nodes import Function
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.visit import blocks
from tandem.compiler.machines.cpu.backend import SketchedCall
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.kernels import (
    CpuKernel,
    computation_of,
    cpu_kernel,
    kernel_of_sketch,
    sketched_kernel,
)
from tandem.compiler.machines.cpu.schedules.generic import scheduled_stages
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.sketches import LowerSketch, rules_of, sketched
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.planner import Plan
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.te.knobs import Choice
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.explorers.explorer import ChoiceTable, Search
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.constants import Hoisted
from tandem.compiler.tune.sketches.explorer import SketchExplorer
from tandem.compiler.tune.sketches.template import DEFAULT, SKETCHES
from tandem.compiler.tune.tasks import Task
from tandem.workbench.measurers.on_cpu import Array, CpuLayer, MeasuredLayer, noise


@dataclass(frozen=True, eq=False)
class SketchTask(Task):
    """A computation to find sketches for; its default is the compiler's own schedule.

    Attributes
    ----------
    kernel, plan
        The graph's kernel, and the template's plan for it; None of a user's own expressions, and
        where no template matches.
    """

    kernel: Function | None = None
    plan: Plan | None = None

    def knows(self, choice: Choice) -> bool:
        try:
            self.schedule(choice)
        except (ReplayError, ScheduleError):
            return False
        return True

    def schedule(self, choice: Choice) -> Schedule:
        """The schedule of a choice; of the default the generic one. Raises as `replay`."""
        machine = self.target.machine
        if choice == DEFAULT:
            return generic_schedule(self.workload, machine)
        return SKETCHES.schedule(self.workload, choice, rules_of(machine, self.workload))


@dataclass(frozen=True, slots=True)
class SketchLayer:
    """A computation to compile and measure alone.

    Attributes
    ----------
    function, plan
        As the kernel and the plan of `SketchTask`.
    """

    machine: CpuTarget
    computation: Computation
    function: Function | None
    plan: Plan | None

    @staticmethod
    def of(machine: CpuTarget, task: SketchTask) -> SketchLayer:
        """The layer of a task on a processor."""
        return SketchLayer(machine, task.workload, task.kernel, task.plan)

    def kernel(self, choice: Choice) -> CpuKernel:
        """The kernel with the decisions of a sketch, or with the compiler's own schedule."""
        function = self.function
        if choice == DEFAULT and function is not None:
            return cpu_kernel(function, self.plan, cpu(self.machine))
        if choice == DEFAULT:
            return kernel_of_sketch(Hoisted(self._generic(), ()), "kernel")
        if function is not None:
            return sketched_kernel(function, self.computation, choice, self.machine)
        return kernel_of_sketch(sketched(self.computation, choice, self.machine), "kernel")

    def noise(self) -> list[Array]:
        """An array for each input."""
        inputs = self.computation.start().program.inputs
        return noise((each.shape, each.dtype.numpy) for each in inputs)

    def reference(self, arrays: list[Array]) -> list[Array]:
        """The results by the generic schedule."""
        return [*compile_function(self._generic(), CpuTarget.host(threads=1))(*arrays)]

    def _generic(self) -> PrimFunc:
        return generic_schedule(self.computation, self.machine).program


def generic_schedule(computation: Computation, machine: CpuTarget) -> Schedule:
    """The schedule that the compiler has for any computation."""
    simd, again = Simd.of(machine), computation.reassociate
    return scheduled_stages(computation.start(), simd, reassociate=again)


def layer_of(machine: CpuTarget, task: Task) -> MeasuredLayer:
    """What is measured for a task on a processor."""
    if isinstance(task, SketchTask):
        return SketchLayer.of(machine, task)
    return CpuLayer.of(machine, task)


def sketch_search(task: Task, seed: int) -> tuple[ChoiceTable, Search]:
    """The table of a task's sketches, and what proposes them."""
    assert isinstance(task, SketchTask), "made for sketches"
    machine, computation = task.target.machine, task.workload
    lower = LowerSketch(machine, computation.constant_names)
    explorer = SketchExplorer(computation, rules_of(machine, computation), lower, seed)
    return explorer.table, explorer


def sketch_tasks(machine: CpuTarget, calls: Mapping[str, SketchedCall]) -> tuple[Task, ...]:
    """The distinct computations of a network's kernels that reduce, by the names of their
    results."""
    found: dict[Computation, tuple[list[str], SketchedCall]] = {}
    for name, call in calls.items():
        computation = computation_of(call.kernel, call.constants)
        program = computation.start().program
        if any(block.init is not None for block in blocks(program.body)):
            found.setdefault(computation, ([], call))[0].append(name)
    return tuple(
        sketch_task(machine, names, computation, call)
        for computation, (names, call) in found.items()
    )


def sketch_task(
    machine: CpuTarget,
    names: Sequence[str],
    computation: Computation,
    call: SketchedCall | None = None,
) -> SketchTask:
    """The task of a computation: of a network's kernel, or of a user's own expressions."""
    return SketchTask(
        layers=tuple(names),
        target=cpu(machine),
        template=SKETCHES,
        workload=computation,
        arguments=Arguments(),
        default=DEFAULT,
        kernel=None if call is None else call.kernel,
        plan=None if call is None else call.plan,
    )

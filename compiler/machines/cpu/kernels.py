"""Kernels of the CPU: scheduled programs, with those that pack their constants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tandem.compiler.graph.expressions import placeholders, tensors
from tandem.compiler.graph.nodes import Call, Function
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.narrow_constants import narrow_constant
from tandem.compiler.machines.cpu.schedules.generic import cpu_schedule
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.sketches import sketched
from tandem.compiler.machines.cpu.templates.layer import LayerOnCpu, LayerWorkload
from tandem.compiler.plan.planner import Plan
from tandem.compiler.plan.target import Target
from tandem.compiler.te import Schedule
from tandem.compiler.te.build import macs_of, program_of
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.sketches.computation import Computation, input_number
from tandem.compiler.tune.sketches.constants import Hoisted


@dataclass(frozen=True, slots=True)
class CpuKernel:
    """A scheduled kernel.

    Attributes
    ----------
    program
        The scheduled program that computes the kernel.
    operands
        For each input of the program, the index of the kernel's parameter.
        For an input that is packed of several, the first.
    packing
        Programs that pack parameters into inputs of the program, by the input's index.
    sources
        The indices of the parameters that these programs read, by the input's index.
    prefetches
        Whether the program prefetches what is packed.
    operators
        Names of the kernel's operators, in order.
    macs
        Useful multiply-accumulates.
    """

    program: PrimFunc
    operands: tuple[int, ...]
    packing: Mapping[int, PrimFunc]
    sources: Mapping[int, tuple[int, ...]]
    operators: tuple[str, ...]
    macs: int
    prefetches: bool = True

    @property
    def streamed(self) -> tuple[str, ...]:
        """The names of inputs that are read in the order of their memory, and prefetched."""
        packed = self.packing if self.prefetches else ()
        return tuple(self.program.inputs[at].name for at in packed)


def cpu_kernel(
    kernel: Function,
    plan: Plan | None,
    target: Target[CpuTarget],
    narrow: Collection[int] = (),
) -> CpuKernel:
    """The kernel scheduled by `plan`, or by the generic schedule if there is no plan.

    Parameters
    ----------
    narrow
        Without a plan, the parameters that are packed into bytes (`narrow_constants`).
    """
    if plan is not None:
        assert isinstance(plan.template, LayerOnCpu), "all templates of a CPU are layers"
        return scheduled_kernel(plan.template, plan.workload, plan.choice, target)
    inputs, given = placeholders(kernel), placeholders(kernel)
    packings, inlined = [], []
    for number in narrow:
        constant = narrow_constant(given[number])
        inputs[number], given[number] = constant.packed, constant.elements
        packings.append(program_of([constant.packing], name=constant.packing.name))
        inlined.append(constant.elements.name)
    simd, outputs = Simd.of(target.machine), tensors(kernel, given)
    schedule = cpu_schedule(*outputs, simd=simd, inputs=inputs, name=kernel.name, inlined=inlined)
    return _kernel(kernel, schedule, packings)


def scheduled_kernel(
    template: LayerOnCpu, workload: LayerWorkload, choice: Choice, target: Target[CpuTarget]
) -> CpuKernel:
    """The kernel of a workload, scheduled by a choice of a template."""
    schedule = template.schedule(workload, choice, target.machine)
    packers = template.packings(workload, choice, target.machine)
    made = _kernel(workload.kernel, schedule, packers)
    return replace(made, prefetches=template.prefetches)


def computation_of(kernel: Function, constants: Collection[int]) -> Computation:
    """The computation of a kernel."""
    inputs = placeholders(kernel)
    return Computation.of(program_of(tensors(kernel, inputs), inputs), constants)


def sketched_kernel(
    kernel: Function, computation: Computation, choice: Choice, machine: CpuTarget
) -> CpuKernel:
    """A kernel with the schedule that a sketch's decisions make. Raises as `sketched`."""
    found = sketched(computation, choice, machine)
    operators = operator_names(kernel)
    macs = macs_of(tensors(kernel, placeholders(kernel)))
    return kernel_of_sketch(found, kernel.name, operators, macs)


def kernel_of_sketch(
    found: Hoisted, name: str, operators: tuple[str, ...] = (), macs: int = 0
) -> CpuKernel:
    """The programs of a sketch as a kernel, whose parameters are the computation's inputs."""
    packers = {packing.outputs[0].name: packing for packing in found.packings}
    packing, sources, operands = {}, {}, []
    for at, buffer in enumerate(found.program.inputs):
        read: tuple[Buffer, ...] = (buffer,)
        if buffer.name in packers:
            packing[at] = packers[buffer.name]
            read = packing[at].inputs
        sources[at] = tuple(input_number(each.name) for each in read)
        operands.append(sources[at][0])
    sources = {at: sources[at] for at in packing}
    program = replace(found.program, name=name)
    return CpuKernel(program, tuple(operands), packing, sources, operators, macs, prefetches=False)


def _kernel(kernel: Function, schedule: Schedule, packers: Sequence[PrimFunc] = ()) -> CpuKernel:
    """The kernel of a schedule; `packers` pack parameters, of which they have the names."""
    program = replace(schedule.program, name=kernel.name)
    numbers = {param.name: number for number, param in enumerate(kernel.params)}
    by_output = {packer.outputs[0].name: packer for packer in packers}
    read = {
        name: tuple(numbers[buffer.name] for buffer in packer.inputs)
        for name, packer in by_output.items()
    }
    numbers |= {name: first for name, (first, *_) in read.items()}
    operators = operator_names(kernel)
    operands = tuple(numbers[buffer.name] for buffer in program.inputs)
    packing = {
        at: by_output[buffer.name]
        for at, buffer in enumerate(program.inputs)
        if buffer.name in by_output
    }
    sources = {at: read[program.inputs[at].name] for at in packing}
    macs = macs_of(tensors(kernel, placeholders(kernel)))
    return CpuKernel(program, operands, packing, sources, operators, macs)


def operator_names(kernel: Function) -> tuple[str, ...]:
    """The names of a kernel's operators, in order."""
    return tuple(
        let.value.callee.name
        for let in kernel.body.lets
        if isinstance(let.value, Call) and isinstance(let.value.callee, OpSpec)
    )

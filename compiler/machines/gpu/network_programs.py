"""The GPU's programs of a network, before they are text for a device."""

from __future__ import annotations

from tandem.compiler.driver.build import Backends, offloading_passes
from tandem.compiler.graph.nodes import Function, FunctionKind
from tandem.compiler.graph.passes import transform
from tandem.compiler.graph.visit import functions
from tandem.compiler.machines.gpu.backend import gpu_kernel_program
from tandem.compiler.machines.gpu.launch import GpuProgram
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.target import gpu


def network_kernels(function: Function, machine: GpuMachine) -> dict[str, Function]:
    """The kernels of a network by their names, each once."""
    target, backends = gpu(machine), Backends()
    passes = (*offloading_passes(function, (target,), backends), *backends.of(target).passes())
    found: dict[str, Function] = {}
    for kernel in functions(transform(function, passes)):
        if kernel.kind is FunctionKind.KERNEL:
            name = kernel.name
            while name in found:
                name = f"{name}_"
            found[name] = kernel
    return found


def network_programs(function: Function, machine: GpuMachine) -> dict[str, GpuProgram]:
    """The programs of a network's kernels by their names, each once.

    Raises
    ------
    LoweringError
        As `lower.lowering.gpu_program`.
    """
    kernels = network_kernels(function, machine)
    return {name: gpu_kernel_program(kernel, machine) for name, kernel in kernels.items()}

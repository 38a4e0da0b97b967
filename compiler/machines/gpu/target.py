"""A GPU as a target."""

from __future__ import annotations

from tandem.compiler.machines.cpu.runner import exact_runner
from tandem.compiler.machines.gpu.backend import GpuBackend
from tandem.compiler.machines.gpu.lower.lowering import GPU_PASSES
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.plan.target import Target, TemplateCosts
from tandem.compiler.plan.tuned_choices import TunedChoices


def gpu(machine: GpuMachine, tuned: TunedChoices | None = None) -> Target[GpuMachine]:
    """The target for a GPU, which computes whole networks: all operators have a schedule. `tuned`
    tiles of products are preferred to the compiler's own."""
    return Target(
        name=machine.name,
        machine=machine,
        templates=(),
        passes=GPU_PASSES,
        cost=TemplateCosts(machine),
        make_backend=GpuBackend,
        tuned=tuned,
        make_runner=exact_runner,
        keeps=True,
    )

"""A CPU as a target, and its back end: kernels as native code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compiler.codegen import CpuTarget
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8
from compiler.lower.pipeline import CPU_PASSES
from compiler.targets.cpu.backend import KernelBackend
from compiler.targets.target import CostModel, Memory, Target
from compiler.templates.cpu.conv2d import Conv2dOnCpu
from compiler.templates.cpu.dense import DenseOnCpu
from compiler.templates.space import Choices, Floats

__all__ = ["TEMPLATES", "RegisterTiles", "cpu"]

TEMPLATES = (Conv2dOnCpu(), DenseOnCpu())
"""What a CPU does with packed weights. A schedule that is good for any kernel does the rest."""


@dataclass(frozen=True, slots=True)
class RegisterTiles(CostModel):
    """What the templates estimate of tiles in registers."""

    machine: CpuTarget

    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        found: Floats = template.estimate(workload, choices, self.machine)
        return found


def cpu(machine: CpuTarget) -> Target[CpuTarget]:
    """The host's processor, or one like it."""
    return Target(
        name="",
        machine=machine,
        memories=(Memory(Scope.GLOBAL, (), INT8), Memory(Scope.LOCAL, (), INT8)),
        templates=TEMPLATES,
        passes=CPU_PASSES,
        cost=RegisterTiles(machine),
        make_backend=KernelBackend,
    )

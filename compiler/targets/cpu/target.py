"""A CPU as a target."""

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
"""Layers with packed weights; all other kernels have the generic schedule."""


@dataclass(frozen=True, slots=True)
class RegisterTiles(CostModel):
    """The costs that templates estimate for tiles in registers."""

    machine: CpuTarget

    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        found: Floats = template.estimate(workload, choices, self.machine)
        return found


def cpu(machine: CpuTarget) -> Target[CpuTarget]:
    """The target for a CPU such as the host's."""
    return Target(
        name="",
        machine=machine,
        memories=(Memory(Scope.GLOBAL, (), INT8), Memory(Scope.LOCAL, (), INT8)),
        templates=TEMPLATES,
        passes=CPU_PASSES,
        cost=RegisterTiles(machine),
        make_backend=KernelBackend,
    )

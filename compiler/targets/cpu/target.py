"""A CPU as a target."""

from __future__ import annotations

from compiler.codegen import CpuTarget
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8
from compiler.lower.lowering import CPU_PASSES
from compiler.targets.cpu.backend import KernelBackend
from compiler.targets.target import Memory, Target, TemplateCosts, TunedChoices
from compiler.templates.cpu.conv2d import Conv2dOnCpu
from compiler.templates.cpu.dense import DenseOnCpu
from compiler.templates.cpu.winograd import WinogradOnCpu

TEMPLATES = (WinogradOnCpu(), Conv2dOnCpu(), DenseOnCpu())
"""Templates of layers with packed weights; all other kernels use the generic schedule."""


def cpu(machine: CpuTarget, tuned: TunedChoices | None = None) -> Target[CpuTarget]:
    """The target for a CPU such as the host's; `tuned` choices are preferred to estimates."""
    return Target(
        name="",
        machine=machine,
        memories=(Memory(Scope.GLOBAL, (), INT8), Memory(Scope.LOCAL, (), INT8)),
        templates=TEMPLATES,
        passes=CPU_PASSES,
        cost=TemplateCosts(machine),
        make_backend=KernelBackend,
        tuned=tuned,
    )

"""The accelerator as a target, for a hardware configuration and a DRAM timing."""

from __future__ import annotations

from typing import Any

from compiler.machines.accelerator.backend import StreamBackend
from compiler.machines.accelerator.costs import AcceleratorCosts
from compiler.machines.accelerator.limits import limit_of
from compiler.machines.accelerator.lower.programs import accelerator_passes
from compiler.machines.accelerator.machine import AcceleratorTarget
from compiler.machines.accelerator.templates.alu_lowering import is_exact
from compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from compiler.machines.accelerator.templates.dense import DenseOnArray
from compiler.machines.accelerator.templates.dense_wide import WideDenseOnArray
from compiler.machines.accelerator.templates.elementwise import ElementwiseOnAlu
from compiler.machines.accelerator.templates.global_average_pool import GlobalPoolOnAlu
from compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from compiler.machines.accelerator.templates.matmul import MatmulOnArray
from compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu
from compiler.machines.accelerator.templates.template import AcceleratorTemplate
from compiler.machines.accelerator.templates.upsample import UpsampleByStores
from compiler.plan.target import Target, TunedChoices
from hw.config import HardwareConfig

TEMPLATES: tuple[AcceleratorTemplate[Any], ...] = (
    Conv2dOnArray(),
    DenseOnArray(),
    WideDenseOnArray(),
    MatmulOnArray(),
    MaxPoolOnAlu(),
    GlobalPoolOnAlu(),
    ElementwiseOnAlu(),
    UpsampleByStores(),
)
"""The templates of the base instruction set, in matching order; add new operators here."""


def accelerator(
    config: HardwareConfig,
    memory: MemoryTiming | None = None,
    *,
    hiding: bool = True,
    tuned: TunedChoices | None = None,
) -> Target[AcceleratorTarget]:
    """The target for a configuration.

    Parameters
    ----------
    memory
        DRAM timing that cost estimates assume; by default that of `MemoryTiming()`.
    hiding
        Whether schedules may use two virtual threads to hide latency.
    tuned
        Choices to prefer over the estimated best.
    """
    machine = AcceleratorTarget.of(config)
    return Target(
        name="accelerator",
        machine=machine,
        templates=TEMPLATES,
        passes=accelerator_passes(machine),
        cost=AcceleratorCosts(MachineCost(config, memory or MemoryTiming())),
        make_backend=StreamBackend,
        settings=() if hiding else (("threads", (1,)),),
        is_exact=is_exact,
        tuned=tuned,
        limit_of=limit_of,
    )

"""The accelerator as a target, of some configuration and with some memory behind its bus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compiler.intrinsics.scopes import OnChip
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32
from compiler.lower.accelerator.pipeline import accelerator_passes
from compiler.target import AcceleratorTarget
from compiler.targets.accelerator.backend import StreamBackend
from compiler.targets.accelerator.blocks import Blocks
from compiler.targets.target import CostModel, Memory, Target
from compiler.templates.accelerator.conv2d import Conv2dOnArray
from compiler.templates.accelerator.dense import DenseOnArray
from compiler.templates.accelerator.dense_wide import WideDenseOnArray
from compiler.templates.accelerator.elementwise import ElementwiseOnAlu
from compiler.templates.accelerator.global_average_pool import GlobalPoolOnAlu
from compiler.templates.accelerator.machine_cost import MachineCost, MemoryTiming
from compiler.templates.accelerator.max_pool import MaxPoolOnAlu
from compiler.templates.accelerator.template import AcceleratorTemplate
from compiler.templates.space import Choices, Floats
from hw.config import HardwareConfig
from hw.topology import MemoryId, Module

__all__ = ["TEMPLATES", "Analytic", "accelerator"]

TEMPLATES: tuple[AcceleratorTemplate[Any], ...] = (
    Conv2dOnArray(),
    DenseOnArray(),
    WideDenseOnArray(),
    MaxPoolOnAlu(),
    GlobalPoolOnAlu(),
    ElementwiseOnAlu(),
)
"""All that the base instruction set does: an operator is added here."""


@dataclass(frozen=True, slots=True)
class Analytic(CostModel):
    """What the templates estimate."""

    machine: MachineCost

    def candidates(
        self, template: AcceleratorTemplate[Any], workload: Any, choices: Choices
    ) -> Choices:
        return template.shortlist(workload, choices, self.machine)

    def costs(self, template: AcceleratorTemplate[Any], workload: Any, choices: Choices) -> Floats:
        return template.estimate(workload, choices, self.machine)


def accelerator(
    config: HardwareConfig, memory: MemoryTiming | None = None, *, hiding: bool = True
) -> Target[AcceleratorTarget]:
    """The target.

    Parameters
    ----------
    memory
        What its estimates assume; by default a quick one.
    hiding
        Latency may be hidden, by two virtual threads.
    """
    machine = AcceleratorTarget.of(config)
    return Target(
        name="accelerator",
        machine=machine,
        memories=_memories(config),
        templates=TEMPLATES,
        passes=accelerator_passes(machine),
        cost=Analytic(MachineCost(config, memory or MemoryTiming())),
        make_backend=StreamBackend,
        layouts=Blocks(machine),
        settings=() if hiding else (("threads", (1,)),),
    )


def _memories(config: HardwareConfig) -> tuple[Memory, ...]:
    batch, inputs, outputs = config.batch, config.block_in, config.block_out
    load, compute, store = (
        each.name.lower() for each in (Module.LOAD, Module.COMPUTE, Module.STORE)
    )
    return (
        Memory(Scope.GLOBAL, (), INT8, None, (store,), (load, compute)),
        Memory(OnChip.INP, (batch, inputs), INT8, config.depth(MemoryId.INP), (load,), (compute,)),
        Memory(
            OnChip.WGT, (outputs, inputs), INT8, config.depth(MemoryId.WGT), (load,), (compute,)
        ),
        Memory(
            OnChip.ACC,
            (batch, outputs),
            INT32,
            config.depth(MemoryId.ACC),
            (compute,),
            (compute, store),
        ),
    )

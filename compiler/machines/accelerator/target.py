"""The accelerator as a target, for a hardware configuration and a DRAM timing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.types import Type
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.costs import AcceleratorCosts
from tandem.compiler.machines.accelerator.limits import limit_of
from tandem.compiler.machines.accelerator.lower.programs import accelerator_passes
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.products import ALL_PRODUCTS, RECORDED_PRODUCTS
from tandem.compiler.machines.accelerator.templates.alu_lowering import is_exact
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_max_pool import PooledConv2dOnArray
from tandem.compiler.machines.accelerator.templates.cut_products import short_factors
from tandem.compiler.machines.accelerator.templates.dense import DenseOnArray
from tandem.compiler.machines.accelerator.templates.dense_wide import WideDenseOnArray
from tandem.compiler.machines.accelerator.templates.elementwise import ElementwiseOnAlu
from tandem.compiler.machines.accelerator.templates.global_average_pool import GlobalPoolOnAlu
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.machines.accelerator.templates.matmul import MatmulOnArray
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.upsample import UpsampleByStores
from tandem.compiler.plan.target import Target
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature

TEMPLATES: tuple[AcceleratorTemplate[Any], ...] = (
    Conv2dOnArray(),
    DenseOnArray(),
    WideDenseOnArray(),
    MatmulOnArray(),
    PooledConv2dOnArray(),
    MaxPoolOnAlu(),
    GlobalPoolOnAlu(),
    ElementwiseOnAlu(),
    UpsampleByStores(),
)
"""The templates of the base instruction set, in matching order; add new operators here."""
_WEIGHTED = ("conv2d", "dense")
"""Operators whose weights are constants in WGT."""


def accelerator(
    config: HardwareConfig,
    memory: MemoryTiming | None = None,
    *,
    hiding: bool = True,
    tuned: TunedChoices | None = None,
    small_host: bool = False,
    sketches: bool = False,
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
    small_host
        Whether the processor beside it moves bytes one by one.
    sketches
        Whether products that no template takes are on the array, too, as far as it computes them;
        else those are of which `tuned` has a sketch.
    """
    fallbacks: tuple[AcceleratorTemplate[Any], ...] = ()
    if sketches:
        fallbacks = (ALL_PRODUCTS,)
    elif tuned is not None and tuned.knows(RECORDED_PRODUCTS):
        fallbacks = (RECORDED_PRODUCTS,)
    machine = AcceleratorTarget.of(config, small_host=small_host)
    return Target(
        name="accelerator",
        machine=machine,
        templates=(*TEMPLATES, *fallbacks),
        passes=accelerator_passes(machine),
        cost=AcceleratorCosts(MachineCost(config, memory or MemoryTiming())),
        make_backend=StreamBackend,
        settings=() if hiding else (("threads", (1,)),),
        is_exact=is_exact,
        short_factors=short_factors(config.alu_operations),
        tuned=tuned,
        limit_of=limit_of,
        takes_compressed=_Widens(Feature.COMPRESSED_WEIGHTS in config.features),
    )


@dataclass(frozen=True, slots=True)
class _Widens:
    """Whether a machine, with the extension or without, widens the weights of an operator as it
    loads them."""

    extended: bool

    def __call__(self, call: Call, _result: Type) -> bool:
        return self.extended and call.callee.name in _WEIGHTED

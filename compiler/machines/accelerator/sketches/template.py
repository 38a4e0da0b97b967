"""Sketches of products as a schedule template, for tasks and records, and its costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final, NoReturn

import numpy as np

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.counts import ProductCounts
from tandem.compiler.machines.accelerator.sketches.cycles import IN_CYCLES, bound, columns
from tandem.compiler.machines.accelerator.sketches.product import product_of
from tandem.compiler.machines.accelerator.sketches.schedules import PART, slotted, tiled
from tandem.compiler.machines.accelerator.sketches.spaces import (
    settings,
    slotted_space,
    tiled_space,
)
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.plan.pattern import Apply
from tandem.compiler.plan.schedule_template import KernelMatch, ScheduleTemplate
from tandem.compiler.plan.space import Bools, Choices, Floats, Space
from tandem.compiler.plan.target import TemplateCosts
from tandem.compiler.te.knobs import Choice, OpenTrace
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.computation import Computation


class ProductSketches(ScheduleTemplate[Computation, AcceleratorTarget]):
    """Schedules a computation in blocks by what its expressions are.

    No pattern leads to it: what is scheduled is the computation itself. Its base space is that of
    `schedules.tiled`, its wide one that of `schedules.slotted`.
    """

    name: ClassVar[str] = "array_sketches"
    patterns: ClassVar[tuple[Apply, ...]] = ()

    def bind(self, found: KernelMatch, machine: AcceleratorTarget) -> NoReturn:
        raise Refusal("sketches match no pattern: they schedule whole computations")

    def space(self, workload: Computation, machine: AcceleratorTarget) -> Space:
        return tiled_space(product_of(workload, machine))

    def wide_space(self, workload: Computation, machine: AcceleratorTarget) -> Space | None:
        product = product_of(workload, machine)
        axis = product.weight_axis
        return None if axis is None else slotted_space(product, axis)

    def fits(self, workload: Computation, choices: Choices, machine: AcceleratorTarget) -> Bools:
        usage = ProductCounts(product_of(workload, machine), choices).usage()
        found = [used <= machine.config.depth(memory) for memory, used in usage.items()]
        return np.logical_and.reduce(found)

    def estimate(self, workload: Computation, choices: Choices, cost: MachineCost) -> Floats:
        """Estimated cycles; infinite where the micro-ops do not stay on chip."""
        return columns(self._counts(workload, choices, cost), cost)["estimate"]

    def schedule(
        self, workload: Computation, choice: Choice, machine: AcceleratorTarget
    ) -> Schedule:
        slots = PART in choice
        trace = _trace(workload, machine, slots)
        product = product_of(workload, machine)
        if slots:
            assert product.weight_axis is not None, "there is a trace"
            choice = settings(product, product.weight_axis, choice)
        return product.start.replay(trace, choice)

    def _counts(self, workload: Computation, choices: Choices, cost: MachineCost) -> ProductCounts:
        return ProductCounts(product_of(workload, AcceleratorTarget.of(cost.config)), choices)


@dataclass(frozen=True, slots=True)
class ProductCosts(TemplateCosts):
    """Estimates, lower bounds and features of choices of products."""

    def bounds(self, template: object, workload: Computation, choices: Choices) -> Floats:
        return bound(self._counts(workload, choices), self.machine)

    def features(self, template: object, workload: Computation, choices: Choices) -> Floats:
        counts = self._counts(workload, choices)
        least = bound(counts, self.machine)
        # What is counted in cycles is the same for small layers and large ones by their bounds.
        known = (
            np.where(np.isfinite(column), column / (least if name in IN_CYCLES else 1.0), -1.0)
            for name, column in columns(counts, self.machine).items()
        )
        return np.stack([*known], axis=1)

    def _counts(self, workload: Computation, choices: Choices) -> ProductCounts:
        cost: MachineCost = self.machine
        return ProductCounts(product_of(workload, AcceleratorTarget.of(cost.config)), choices)


PRODUCT_SKETCHES: Final = ProductSketches()
"""The one template of the accelerator's sketches."""


@lru_cache(maxsize=64)
def _trace(workload: Computation, machine: AcceleratorTarget, slots: bool) -> OpenTrace:
    product = product_of(workload, machine)
    if not slots:
        return tiled(product)
    axis = product.weight_axis
    if axis is None:
        raise Refusal("no axis of weights alone: there is no schedule with slots")
    return slotted(product, axis)

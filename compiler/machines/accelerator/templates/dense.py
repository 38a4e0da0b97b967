"""Dense layers on the GEMM array, and the requantisation of their sums."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.machines.accelerator.intrinsics.scopes import OnChip
from compiler.machines.accelerator.machine import AcceleratorTarget
from compiler.machines.accelerator.templates import dense_pipelined as pipelined
from compiler.machines.accelerator.templates.conv2d_pipelined import is_pipelined
from compiler.machines.accelerator.templates.epilogue import (
    Epilogue,
    Pass,
    requantise_passes,
    requantise_pattern,
)
from compiler.machines.accelerator.templates.machine_cost import MachineCost
from compiler.machines.accelerator.templates.products import PRODUCT, Products, largest_sum
from compiler.machines.accelerator.templates.template import AcceleratorTemplate
from compiler.machines.accelerator.templates.tiling import (
    operand_accumulators,
    parameter_usage,
    sharing_rank,
    unusual_residency,
)
from compiler.machines.accelerator.templates.work_counts import WorkCounts
from compiler.plan.schedule_template import Arguments, KernelMatch
from compiler.plan.space import Choices, Floats, Ints, Space, rank_by
from compiler.te import Schedule
from compiler.te.knobs import Choice, OpenTrace
from hw.topology import MemoryId


@dataclass(frozen=True, slots=True)
class DenseWorkload:
    """A product of packed int8 tensors, and the passes that requantise the sums to int8."""

    products: Products
    passes: tuple[Pass, ...]

    @property
    def epilogue(self) -> Epilogue:
        """The passes as an epilogue."""
        return Epilogue(self.passes)


class DenseOnArray(AcceleratorTemplate[DenseWorkload]):
    """::

    for tiles of n, oc:
      for virtual threads:
        reset the tile's sums
        for steps of ic:
          load data, load weights, multiply
        the passes of the epilogue
        store

    Operands for each channel are loaded once and stay on chip (knob `resident`), or are loaded with
    each tile.
    """

    name = "dense"
    patterns = (requantise_pattern(PRODUCT), requantise_pattern(PRODUCT, skip_rank=2))
    array_operand = "data"

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[DenseWorkload, Arguments]:
        largest = largest_sum(found.match.constant("weight"))
        passes, numbers = requantise_passes(found, largest, machine.config)
        weight = Products.weight(found, machine.config)
        workload = DenseWorkload(Products.of(found, machine.config), passes)
        return workload, Arguments({"weight": weight, **numbers.tensors}, numbers.immediates)

    def start(self, workload: DenseWorkload, machine: AcceleratorTarget) -> Schedule:
        """The unscheduled stages: `out_sum`, the passes, `out`."""
        data, weight, sums = workload.products.expressions()
        output, operands = workload.epilogue.compute(sums)
        return Schedule.of(output, inputs=(data, weight, *operands))

    def space(self, workload: DenseWorkload, machine: AcceleratorTarget) -> Space:
        return workload.products.space(workload.epilogue)

    def wide_space(self, workload: DenseWorkload, machine: AcceleratorTarget) -> Space | None:
        return pipelined.space(workload.products)

    def schedule(
        self, workload: DenseWorkload, choice: Choice, machine: AcceleratorTarget
    ) -> Schedule:
        if not is_pipelined(choice):
            return super().schedule(workload, choice, machine)
        trace = pipelined.sketch(workload.products, workload.epilogue, machine)
        settings = pipelined.settings(workload.products, choice)
        return self.start(workload, machine).replay(trace, settings)

    def sketch(self, workload: DenseWorkload, machine: AcceleratorTarget) -> OpenTrace:
        products, epilogue = workload.products, workload.epilogue
        steps = epilogue.place(products.tile_output(), "resident")
        steps = steps.set_scope("out_sum", OnChip.ACC).compute_at("out_sum", "out", "thread")
        steps = epilogue.load_inputs(steps)
        steps = products.split_sum(steps, ("data", OnChip.INP), ("weight", OnChip.WGT))
        steps = epilogue.tensorize(steps, machine.config)
        return products.tensorize(steps, machine.config).trace

    def usage(self, workload: DenseWorkload, choices: Choices) -> dict[MemoryId, Ints]:
        products, epilogue = workload.products, workload.epilogue
        if is_pipelined(choices):
            return pipelined.usage(products, epilogue, choices)
        choices = choices.at_most(products.extents)
        tile = choices["threads"] * choices["n"] * choices["oc"]
        operands = operand_accumulators(choices, epilogue, products.outputs)
        accumulators = tile * (1 + epilogue.element_operands) + operands
        found = {MemoryId.ACC: accumulators, **products.usage(choices)}
        found[MemoryId.INP] = found[MemoryId.INP] + tile * epilogue.input_operands
        blocks = choices["threads"] * choices["oc"]
        return {**found, **parameter_usage(epilogue, products.outputs, blocks)}

    def work_counts(self, workload: DenseWorkload, choices: Choices) -> WorkCounts:
        if is_pipelined(choices):
            return pipelined.work_counts(workload.products, workload.epilogue, choices)
        return workload.products.work_counts(choices, workload.epilogue)

    def estimate(self, workload: DenseWorkload, choices: Choices, cost: MachineCost) -> Floats:
        """Ranks by bytes loaded from DRAM, then by the number of tiles; in the wide space,
        estimated cycles."""
        products = workload.products
        if is_pipelined(choices):
            return pipelined.estimate(products, workload.epilogue, choices, cost)
        return rank_by(
            *sharing_rank(choices, products.extents),
            unusual_residency(choices, workload.epilogue, products.outputs, cost.config),
            *products.cost_keys(choices, cost.config),
        )

"""Dense layers with int32 results, such as logits."""

from __future__ import annotations

import numpy as np

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.layouts.layout import PLANES
from tandem.compiler.machines.accelerator.intrinsics.base import alu_binary, alu_value
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates import conv2d_tiled as tiled
from tandem.compiler.machines.accelerator.templates.coded_packing import StoredWeight, blank_forms
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.products import (
    PRODUCT,
    SHARED,
    Products,
    of_convolution,
    product_rank,
    product_space,
    sum_of_loaded,
)
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.tiling import tile_output
from tandem.compiler.machines.accelerator.templates.work_counts import WorkCounts, transfers_of
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.space import Choices, Floats, Ints, Space
from tandem.compiler.te import Schedule, compute, placeholder
from tandem.compiler.te.knobs import OpenTrace
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId


class WideDenseOnArray(AcceleratorTemplate[Products]):
    """A dense layer that stores int32 sums: each byte is shifted to the low byte and stored.
    The shift amounts of the bytes are an operand in ACC: `amounts`, int32[4, B, L]."""

    name = "dense_wide"
    patterns = (PRODUCT,)
    array_operand = "data"
    leaves_in_bytes = True

    def bind(self, found: KernelMatch, machine: AcceleratorTarget) -> tuple[Products, Arguments]:
        config = machine.config
        bits = 8 * np.arange(PLANES, dtype=np.int32)[:, None, None]
        amounts = np.broadcast_to(bits, (PLANES, config.batch, config.block_out)).copy()
        weight = Products.weight(found, config)
        tensors = {"weight": weight, "amounts": amounts}
        stored = StoredWeight.of(found, config)
        arguments = Arguments(tensors, forms=stored.forms, remark=stored.remark)
        return Products.of(found, config, stored.coding), arguments

    def stored(self, workload: Products, machine: AcceleratorTarget) -> dict[str, CodedBlocks]:
        images = workload.images()
        return blank_forms(images.weight, images.coding, machine.config)

    def start(self, workload: Products, machine: AcceleratorTarget) -> Schedule:
        """The unscheduled stages: `out_sum`; `out_moved`, shifted sums; `out`, low bytes."""
        tensors, sums = Conv2dOnArray().sums(workload.images())
        n, outputs, *_, batch, lanes = sums.shape
        amounts = placeholder((PLANES, batch, lanes), INT32, "amounts")

        def shifted(p: Expr, n: Expr, oc: Expr, b: Expr, bo: Expr) -> Expr:
            first = index(0)
            return alu_value(AluOp.SHR, sums[n, oc, first, first, b, bo], amounts[p, b, bo])

        axes = ("p", "n", "oc", "b", "bo")
        moved = compute((PLANES, n, outputs, batch, lanes), shifted, "out_moved", axes)
        output = compute(moved.shape, lambda *at: te.cast(moved[at], INT8), "out", axes)
        return Schedule.of(output, inputs=(*tensors, amounts))

    def space(self, workload: Products, machine: AcceleratorTarget) -> Space:
        return product_space(workload, Epilogue())

    def sketch(self, workload: Products, machine: AcceleratorTarget) -> OpenTrace:
        order = ("n_o", "oc_o", "thread", "p", "n_i", "oc_i", "b", "bo")
        steps = tile_output(("n", "oc"), SHARED, order)
        for stage in ("out_moved", "out_sum"):
            steps = steps.set_scope(stage, OnChip.ACC).compute_at(stage, "out", "thread")
        steps = steps.cache_read("amounts", ("out_moved",), OnChip.ACC, "amounts_acc")
        steps = sum_of_loaded(steps, ("weight", OnChip.WGT), ("data", OnChip.INP))
        shift = alu_binary(machine.config, AluOp.SHR).function
        steps = steps.tensorize("out_moved", "b", shift)
        return tiled.tensorized(steps, Epilogue(), machine.config).trace

    def usage(self, workload: Products, choices: Choices) -> dict[MemoryId, Ints]:
        found = tiled.usage(workload.pixels(), of_convolution(choices))
        return {**found, MemoryId.ACC: found[MemoryId.ACC] * (1 + PLANES) + PLANES}

    def work_counts(self, workload: Products, choices: Choices) -> WorkCounts:
        once = np.ones(len(choices), np.int64)
        amounts = transfers_of(MemoryId.ACC, [(once, (PLANES,))], (PLANES,))
        return tiled.work_counts(workload.pixels(), of_convolution(choices), amounts, planes=PLANES)

    def estimate(self, workload: Products, choices: Choices, cost: MachineCost) -> Floats:
        """Ranks by bytes loaded from DRAM, then by the number of tiles."""
        return product_rank(workload, choices, cost)

"""Global average pooling on the ALU: sums over images, divided by the requantisation."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tandem.compiler import te
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.accelerator.intrinsics.base import alu_binary
from tandem.compiler.machines.accelerator.intrinsics.extensions import alu_input
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.alu_tiles import ImageWorkload
from tandem.compiler.machines.accelerator.templates.elementwise import IMAGE_AS_INT32
from tandem.compiler.machines.accelerator.templates.epilogue import (
    in_accumulators,
)
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    requantise_passes,
    requantise_pattern,
)
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.tiling import (
    operand_accumulators,
    parameter_usage,
    resident_operands,
    sharing_rank,
    tensorize_reduction,
    tile_output,
    tile_space,
    unusual_residency,
)
from tandem.compiler.machines.accelerator.templates.work_counts import (
    Output,
    ReductionWork,
    WorkCounts,
    kernel_length,
    thread_redundancy,
    tile_count,
    tile_shapes,
    transfers_of,
)
from tandem.compiler.operators.blocks import DATA_AXES
from tandem.compiler.plan.pattern import Apply
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.space import Choices, Floats, Ints, Space, rank_by
from tandem.compiler.te import Schedule, compute, placeholder, reduce_axis
from tandem.compiler.te.knobs import OpenTrace, knob
from tandem.compiler.te.tensor import Reduction as Sum
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId


def _whole_images(given: Attributes) -> bool:
    if not isinstance(given, Reduction) or given.axes is None:
        return False
    return given.keepdims and {axis % 4 for axis in given.axes} == {2, 3}


_SUMS = Apply(
    "reduce_sum", (IMAGE_AS_INT32,), _whole_images, "over the axes 2 and 3 only, kept as 1"
)


@dataclass(frozen=True, slots=True)
class GlobalPoolWorkload(ImageWorkload):
    """Sums over whole images, and passes over the sums; `from_inp`: the image is loaded into INP,
    not into ACC."""

    from_inp: bool = False


class GlobalPoolOnAlu(AcceleratorTemplate[GlobalPoolWorkload]):
    """::

    for n, tiles of oc:
      for virtual threads:
        reset the tile's sums
        for steps of y, x:
          load a part of the image, add its pixels
        the passes of the epilogue
        store
    """

    name = "global_average_pool"
    patterns = (requantise_pattern(_SUMS),)

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[GlobalPoolWorkload, Arguments]:
        pixels = prod(found.shape("data")[2:4])
        passes, numbers = requantise_passes(found, -INT8.low * pixels, machine.config)
        from_inp = Feature.INPUT_OPERANDS in machine.config.features
        return GlobalPoolWorkload(found.shape("data"), passes, from_inp), numbers

    def start(self, workload: GlobalPoolWorkload, machine: AcceleratorTarget) -> Schedule:
        """The unscheduled stages: `out_data`, the int32 image, unless it is read from INP;
        `out_sum`; the passes; `out`."""
        n, channels, height, width, batch, lanes = workload.data
        data = placeholder(workload.data, INT8, "data")
        loaded = data if workload.from_inp else in_accumulators(data, "out_data", DATA_AXES)
        ky, kx = reduce_axis(height, "ky"), reduce_axis(width, "kx")

        def element(n: Expr, oc: Expr, y: Expr, x: Expr, b: Expr, bo: Expr) -> Sum:
            pixel = te.cast(loaded[n, oc, y + ky, x + kx, b, bo], INT32)
            return te.sum(pixel, (ky, kx))

        sums = compute((n, channels, 1, 1, batch, lanes), element, "out_sum", DATA_AXES)
        output, operands = workload.epilogue.compute(sums)
        return Schedule.of(output, inputs=(data, *operands))

    def space(self, workload: GlobalPoolWorkload, machine: AcceleratorTarget) -> Space:
        return tile_space(("oc",), workload.extents, workload.epilogue)

    def sketch(self, workload: GlobalPoolWorkload, machine: AcceleratorTarget) -> OpenTrace:
        out, sums, epilogue = "out", "out_sum", workload.epilogue
        order = ("n", "oc_o", "thread", "oc_i", "y", "x", "b", "bo")
        steps = epilogue.place(tile_output(("oc",), ("oc",), order), "resident")
        steps = steps.set_scope(sums, OnChip.ACC).compute_at(sums, out, "thread")
        for axis in ("y", "x"):
            steps = steps.split(sums, f"k{axis}", knob(axis), (f"k{axis}_o", f"k{axis}_i"))
        steps = steps.reorder(sums, "ky_o", "kx_o", *"n oc y x ky_i kx_i b bo".split())
        config, add = machine.config, alu_binary(machine.config, AluOp.ADD)
        if workload.from_inp:
            add = alu_input(config, AluOp.ADD)
            steps = steps.cache_read("data", (sums,), OnChip.INP, "out_data")
        else:
            steps = steps.set_scope("out_data", OnChip.ACC)
        steps = epilogue.tensorize(steps.compute_at("out_data", sums, "kx_o"), config)
        return tensorize_reduction(steps, sums, add.function, config).trace

    def usage(self, workload: GlobalPoolWorkload, choices: Choices) -> dict[MemoryId, Ints]:
        choices, epilogue = choices.at_most(workload.extents), workload.epilogue
        blocks, image = choices["threads"] * choices["oc"], choices["y"] * choices["x"]
        operands = operand_accumulators(choices, epilogue, workload.data[1])
        in_acc = 0 if workload.from_inp else image
        accumulators = blocks * (in_acc + 1 + epilogue.element_operands) + operands
        return {
            MemoryId.ACC: accumulators,
            **({MemoryId.INP: blocks * image} if workload.from_inp else {}),
            **parameter_usage(epilogue, workload.data[1], blocks),
        }

    def work_counts(self, workload: GlobalPoolWorkload, choices: Choices) -> WorkCounts:
        images, blocks, *pixels = whole = workload.data[:4]
        sizes = [choices[axis] for axis in ("oc", "y", "x")]
        one, redundancy = np.ones_like(sizes[0]), thread_redundancy(choices, {"oc": blocks})
        memory = MemoryId.INP if workload.from_inp else MemoryId.ACC_8BIT
        loads = transfers_of(memory, tile_shapes(whole, (one, *sizes)), whole)
        steps = prod(-(-extent // size) for extent, size in zip(pixels, sizes[1:], strict=True))
        return WorkCounts.of(
            Output((images, blocks), (one, sizes[0])),
            workload.epilogue,
            resident_operands(choices),
            (loads.times(redundancy),),
            redundancy,
            kernel_length(*sizes),
            ReductionWork(steps, inputs=prod(whole))
            if workload.from_inp
            else ReductionWork(steps, resets=images * blocks, tensor=prod(whole)),
        )

    def estimate(self, workload: GlobalPoolWorkload, choices: Choices, cost: MachineCost) -> Floats:
        """Ranks by the number of steps, then by the longest rows."""
        return rank_by(
            *sharing_rank(choices, {"oc": workload.data[1]}),
            unusual_residency(choices, workload.epilogue, workload.data[1], cost.config),
            tile_count(choices, workload.extents),
            -choices["x"],
        )

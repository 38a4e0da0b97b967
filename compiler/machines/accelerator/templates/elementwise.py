"""Elementwise requantisation on the ALU: of an int8 tensor, or of a sum of two int8 tensors."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.compiler.machines.accelerator.intrinsics.extensions import move_input
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.alu_tiles import ImageWorkload, TiledOnAlu
from tandem.compiler.machines.accelerator.templates.epilogue import (
    in_accumulators,
)
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    requantise_passes,
    requantise_pattern,
)
from tandem.compiler.machines.accelerator.templates.work_counts import ReductionWork
from tandem.compiler.operators.blocks import DATA_AXES
from tandem.compiler.plan.pattern import Apply, Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.space import Ints
from tandem.compiler.te import Schedule, placeholder
from tandem.compiler.te.knobs import OpenTrace
from tandem.hw.features import Feature

IMAGE_AS_INT32 = Apply(
    "cast",
    (Operand("data", INT8, (4,)),),
    where=lambda given: isinstance(given, Cast) and given.to == INT32,
    requires="to int32 only",
    recomputed=True,
)
"""The pattern of int8 images cast to int32."""


@dataclass(frozen=True, slots=True)
class ElementwiseWorkload(ImageWorkload):
    """Passes over every element of images of int8 or int32."""

    dtype: DType = INT8
    from_inp: bool = False

    def input_tile(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """The extents of the input tile: those of the output tile."""
        return y, x

    def loaded_elements(self, y: Ints, x: Ints) -> Ints:
        """All elements of the image: each is loaded once."""
        return np.full_like(y, self.data[2] * self.data[3])


class ElementwiseOnAlu(TiledOnAlu[ElementwiseWorkload]):
    """Elementwise passes on the ALU; for each tile: load, passes, store. An image in INP is moved
    to ACC, by the pass that requantises it if there is no residual."""

    name = "elementwise"
    patterns = (requantise_pattern(IMAGE_AS_INT32), requantise_pattern(IMAGE_AS_INT32, skip_rank=4))

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[ElementwiseWorkload, Arguments]:
        passes, numbers = requantise_passes(found, -INT8.low, machine.config)
        from_inp = Feature.INPUT_OPERANDS in machine.config.features
        return ElementwiseWorkload(found.shape("data"), passes, from_inp=from_inp), numbers

    def reduction_work(self, workload: ElementwiseWorkload) -> ReductionWork:
        """Moves of an image in INP; or a pass over one in ACC, where a move would requantise."""
        size, requantise = prod(workload.data[:4]), workload.epilogue.requantise
        if workload.from_inp:
            return ReductionWork(inputs=size)
        plain = requantise is not None and requantise.residual is None
        # Behind other passes the last of these requantises.
        return ReductionWork(loaded=size * (plain and len(workload.passes) == 1))

    def start(self, workload: ElementwiseWorkload, machine: AcceleratorTarget) -> Schedule:
        """The unscheduled stages: `out_data`, the passes, `out`."""
        data = placeholder(workload.data, workload.dtype, "data")
        loaded = in_accumulators(data, "out_data", DATA_AXES)
        output, operands = workload.epilogue.compute(loaded)
        return Schedule.of(output, inputs=(data, *operands))

    def sketch(self, workload: ElementwiseWorkload, machine: AcceleratorTarget) -> OpenTrace:
        epilogue, config = workload.epilogue, machine.config
        steps = epilogue.place(self.tile_output(), "resident")
        steps = steps.set_scope("out_data", OnChip.ACC).compute_at("out_data", "out", "thread")
        if workload.from_inp:
            steps = steps.cache_read("data", ("out_data",), OnChip.INP, "out_image")
            steps = steps.compute_at("out_image", "out", "thread")
        steps = epilogue.tensorize(epilogue.load_inputs(steps), config)
        if workload.from_inp:
            steps = steps.tensorize("out_data", "b", move_input(config).function)
        return steps.trace

"""Element by element on the ALU: int8 to int8 of another scale, and sums of two tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.graph.operators.elementwise import Cast
from compiler.intrinsics.scopes import OnChip
from compiler.ir.dtypes import INT8, INT32, DType
from compiler.operators.blocks import DATA_AXES
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, placeholder
from compiler.te.knobs import OpenTrace
from compiler.templates.accelerator.epilogue import (
    in_accumulators,
    requantise_passes,
    requantise_pattern,
)
from compiler.templates.accelerator.tiles import ImageWorkload, TiledOnAlu
from compiler.templates.pattern import Apply, Operand
from compiler.templates.space import Ints
from compiler.templates.template import Arguments, KernelMatch

__all__ = ["ElementwiseOnAlu", "ElementwiseWorkload", "widened"]


def widened() -> Apply:
    """int8 images as int32."""
    return Apply(
        "cast",
        (Operand("data", INT8, (4,)),),
        where=lambda given: isinstance(given, Cast) and given.to == INT32,
        requires="to int32 only",
        recomputed=True,
    )


@dataclass(frozen=True, slots=True)
class ElementwiseWorkload(ImageWorkload):
    """Passes over every element, and nothing else.

    Attributes
    ----------
    dtype
        int8, or int32.
    """

    dtype: DType = INT8

    def under(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """Every element lies under itself."""
        return y, x

    def seen(self, y: Ints, x: Ints) -> Ints:
        """Every element once."""
        return np.full_like(y, self.data[2] * self.data[3])


class ElementwiseOnAlu(TiledOnAlu[ElementwiseWorkload]):
    """Tile by tile: load, pass after pass, store."""

    name = "elementwise"
    patterns = (requantise_pattern(widened()), requantise_pattern(widened(), skip_rank=4))

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[ElementwiseWorkload, Arguments]:
        passes, numbers = requantise_passes(found, -INT8.low, machine.config)
        return ElementwiseWorkload(found.shape("data"), passes), numbers

    def start(self, workload: ElementwiseWorkload, machine: AcceleratorTarget) -> Schedule:
        """Stages: `out_data`, the passes', `out`."""
        data = placeholder(workload.data, workload.dtype, "data")
        loaded = in_accumulators(data, "out_data", DATA_AXES)
        output, operands = workload.epilogue.compute(loaded)
        return Schedule.of(output, inputs=(data, *operands))

    def sketch(self, workload: ElementwiseWorkload, machine: AcceleratorTarget) -> OpenTrace:
        steps = workload.epilogue.place(self.tiled(), "resident")
        steps = steps.set_scope("out_data", OnChip.ACC).compute_at("out_data", "out", "thread")
        return workload.epilogue.tensorize(steps, machine.config).trace

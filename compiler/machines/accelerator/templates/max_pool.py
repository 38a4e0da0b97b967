"""Max pooling on the ALU: an instruction for each tap, over outputs whose tap is not padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from tandem.compiler import te
from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.accelerator.intrinsics.base import alu_binary
from tandem.compiler.machines.accelerator.intrinsics.extensions import alu_input
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.alu_tiles import TiledOnAlu
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue, in_accumulators
from tandem.compiler.machines.accelerator.templates.tiling import tensorize_reduction
from tandem.compiler.machines.accelerator.templates.traffic import (
    loaded_elements,
    needed_parts,
    taps_on_data,
)
from tandem.compiler.machines.accelerator.templates.work_counts import ReductionWork
from tandem.compiler.operators.blocks import DATA_AXES
from tandem.compiler.operators.window import Window, check_windows, windows
from tandem.compiler.plan.pattern import Apply, Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.space import Ints
from tandem.compiler.te import Schedule, compute, placeholder, reduce_axis
from tandem.compiler.te.knobs import OpenTrace
from tandem.compiler.te.tensor import Reduction
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp

LOWEST = INT8.low
"""Initial value of maxima: fits into an instruction's immediate, unlike the lowest int32."""


@dataclass(frozen=True, slots=True)
class MaxPoolWorkload:
    """Maxima over windows; padding is excluded.

    Attributes
    ----------
    data
        Shape: [N, C, H, W, B, L], in blocks of output channels.
    """

    data: tuple[int, ...]
    pool: MaxPool
    dtype: DType = INT8
    from_inp: bool = False

    @property
    def epilogue(self) -> Epilogue:
        """An empty epilogue."""
        return Epilogue()

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows along y and x."""
        pool, image = self.pool, placeholder(self.data[:4], INT8, "data")
        slides = windows(
            "max_pool",
            "out",
            image,
            pool.kernel,
            pool.strides,
            pool.padding,
            pool.dilation,
            pool.ceil_mode,
        )
        check_windows("max_pool", "out", image, slides)
        return slides

    @property
    def extents(self) -> dict[str, int]:
        """Blocks of channels, rows and columns of the output."""
        rows, columns = self.windows
        return {"oc": self.data[1], "y": rows.count, "x": columns.count}

    @property
    def is_padded(self) -> bool:
        """Whether a window has taps on padding."""
        return any(each.before or _exceeds(each) for each in self.windows)

    def input_tile(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """Rows and columns of the image that a tile's windows span, from first to last."""
        rows, columns = self.windows
        return _reach(rows, y), _reach(columns, x)

    def loaded_elements(self, y: Ints, x: Ints) -> Ints:
        """Elements of a channel block that all tiles together load, without padding."""
        rows, columns = self.windows
        return _loaded_elements(rows, y) * _loaded_elements(columns, x)


class MaxPoolOnAlu(TiledOnAlu[MaxPoolWorkload]):
    """::

    for n, tiles of oc, y, x:
      for virtual threads:
        load a part of the image
        fill the tile with the lowest int8
        for each tap: maximum, over the outputs whose tap is not padding
        store
    """

    name = "max_pool"
    patterns = (Apply("max_pool", (Operand("data", INT8, (4,)),)),)
    result_accumulators = 1

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[MaxPoolWorkload, Arguments]:
        pool = found.match.attributes("max_pool", MaxPool)
        from_inp = Feature.INPUT_OPERANDS in machine.config.features
        return MaxPoolWorkload(found.shape("data"), pool, from_inp=from_inp), Arguments()

    def reduction_work(self, workload: MaxPoolWorkload) -> ReductionWork:
        images, size = workload.data[0], prod(workload.extents.values())
        inside = prod(int(taps_on_data(window)[1].sum()) for window in workload.windows)
        taps, loops = images * workload.data[1] * inside, tuple(w.kernel for w in workload.windows)
        if workload.from_inp:
            # A tap that all outputs of a tile have is moved, so that nothing has to be filled.
            return ReductionWork(steps=1, inputs=taps, loops=loops)
        filled = images * size
        return ReductionWork(steps=1, resets=filled, fills=filled, tensor=taps, loops=loops)

    def minimum_traffic(self, workload: MaxPoolWorkload) -> Mapping[str, Fraction]:
        image, _ = needed_parts(workload.windows)
        return {"data": image}

    def start(self, workload: MaxPoolWorkload, machine: AcceleratorTarget) -> Schedule:
        """The unscheduled stages: `out_data`, the image in int32, unless it is read from INP;
        `out_max`; `out`."""
        rows, columns = workload.windows
        data = placeholder(workload.data, INT8, "data")
        loaded = data if workload.from_inp else in_accumulators(data, "out_data", DATA_AXES)
        ky, kx = reduce_axis(rows.kernel, "ky"), reduce_axis(columns.kernel, "kx")

        def element(n: Expr, oc: Expr, y: Expr, x: Expr, b: Expr, bo: Expr) -> Reduction:
            row, column = rows.place(y, ky), columns.place(x, kx)
            pixel = loaded[n, oc, row - rows.before, column - columns.before, b, bo]
            pixel = te.cast(pixel, INT32)
            valid = [*within(rows, row), *within(columns, column)]
            if valid:
                pixel = te.select(te.all_of(*valid), pixel, LOWEST)
            return te.max(pixel, (ky, kx), start=LOWEST)

        shape = (*data.shape[:2], rows.count, columns.count, *data.shape[4:])
        output, _ = workload.epilogue.compute(compute(shape, element, "out_max", DATA_AXES))
        return Schedule.of(output, inputs=(data,))

    def sketch(self, workload: MaxPoolWorkload, machine: AcceleratorTarget) -> OpenTrace:
        steps, maximum = self.tile_output(), alu_binary(machine.config, AluOp.MAX)
        steps = steps.set_scope("out_max", OnChip.ACC).compute_at("out_max", "out", "thread")
        if workload.from_inp:
            maximum = alu_input(machine.config, AluOp.MAX)
            steps = steps.cache_read("data", ("out_max",), OnChip.INP, "out_data")
        else:
            steps = steps.set_scope("out_data", OnChip.ACC)
        steps = steps.compute_at("out_data", "out", "thread")
        steps = steps.reorder("out_max", "ky", "kx", "n", "oc", "y", "x", "b", "bo")
        if workload.is_padded:
            steps = steps.skip_terms("out_max")
        return tensorize_reduction(steps, "out_max", maximum.function, machine.config, LOWEST).trace


def within(window: Window, position: Expr) -> list[Expr]:
    """The conditions under which a position in the padded image lies in the image."""
    low = [position >= window.before] if window.before else []
    return [*low, position < window.before + window.extent] if _exceeds(window) else low


def _exceeds(window: Window) -> bool:
    """Whether the last window extends beyond the image."""
    last = (window.count - 1) * window.stride + (window.kernel - 1) * window.dilation
    return last >= window.before + window.extent


def _loaded_elements(window: Window, sizes: Ints) -> Ints:
    """`loaded_elements`, except that tiles that may span the whole axis load the whole axis."""
    tiles, reach = -(-window.count // sizes), _reach(window, sizes)
    return np.where(reach == window.extent, tiles * reach, loaded_elements(window, sizes))


def _reach(window: Window, count: Ints) -> Ints:
    """The most image elements that `count` adjacent windows span, from first to last."""
    reach = (count - 1) * window.stride + (window.kernel - 1) * window.dilation + 1
    return np.where(count > 0, np.minimum(reach, window.extent), 0)

"""Max pooling on the ALU: an instruction a tap, over the outputs that have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from compiler import te
from compiler.graph.operators.reductions import MaxPool
from compiler.intrinsics.accelerator import fill, two_operands
from compiler.intrinsics.scopes import OnChip
from compiler.ir.dtypes import INT8, DType
from compiler.ir.expr import Expr
from compiler.operators.blocks import DATA_AXES
from compiler.operators.window import Window, sees_data, windows
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, compute, placeholder, reduce_axis
from compiler.te.knobs import OpenTrace
from compiler.te.tensor import Reduction
from compiler.templates.accelerator.demand import Sums, seen
from compiler.templates.accelerator.epilogue import Epilogue, in_accumulators
from compiler.templates.accelerator.tiles import TiledOnAlu
from compiler.templates.accelerator.traffic import taps_on_data, windows_needed
from compiler.templates.pattern import Apply, Operand
from compiler.templates.space import Ints
from compiler.templates.template import Arguments, KernelMatch
from hw.operations import AluOp

__all__ = ["MaxPoolOnAlu", "MaxPoolWorkload"]

LEAST = INT8.low
"""Where maxima begin: what the instructions have room for, unlike the least int32."""


@dataclass(frozen=True, slots=True)
class MaxPoolWorkload:
    """The greatest element under each window, padding never.

    Attributes
    ----------
    data
        Shape: [N, C, H, W, B, L], in blocks of output channels.
    """

    data: tuple[int, ...]
    pool: MaxPool
    dtype: DType = INT8

    @property
    def epilogue(self) -> Epilogue:
        """Nothing follows."""
        return Epilogue(())

    @property
    def windows(self) -> tuple[Window, ...]:
        """Along y and x."""
        pool, image = self.pool, placeholder(self.data[:4], INT8, "data")
        slides = windows(
            "max_pool",
            "out",
            image,
            pool.kernel,
            pool.strides or (1, 1),
            pool.padding or (0, 0, 0, 0),
            pool.dilation or (1, 1),
            pool.ceil_mode,
        )
        sees_data("max_pool", "out", image, slides)
        return slides

    @property
    def extents(self) -> dict[str, int]:
        """Of the output."""
        rows, columns = self.windows
        return {"oc": self.data[1], "y": rows.count, "x": columns.count}

    def under(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """From the first to the last that some window sees."""
        rows, columns = self.windows
        return _reach(rows, y), _reach(columns, x)

    def seen(self, y: Ints, x: Ints) -> Ints:
        """The same of all tiles, without padding."""
        rows, columns = self.windows
        return _seen(rows, y) * _seen(columns, x)


class MaxPoolOnAlu(TiledOnAlu[MaxPoolWorkload]):
    """::

    for n, tiles of oc, y, x:
      for virtual threads:
        load a part of the image
        fill the tile with the least number
        for each tap: maximum over the outputs for which it is no padding
        store
    """

    name = "max_pool"
    patterns = (Apply("max_pool", (Operand("data", INT8, (4,)),)),)
    kept = 1

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[MaxPoolWorkload, Arguments]:
        pool = found.match.attributes("max_pool", MaxPool)
        return MaxPoolWorkload(found.shape("data"), pool), Arguments()

    def sums(self, workload: MaxPoolWorkload) -> Sums:
        images, size = workload.data[0], prod(workload.extents.values())
        inside = prod(int(taps_on_data(each)[1].sum()) for each in workload.windows)
        return Sums(
            steps=1,
            resets=images * size,
            filled=images * size,
            tensor=images * workload.data[1] * inside,
            loops=tuple(each.kernel for each in workload.windows),
        )

    def needed(self, workload: MaxPoolWorkload) -> Mapping[str, Fraction]:
        image, _ = windows_needed(workload.windows)
        return {"data": image}

    def start(self, workload: MaxPoolWorkload, machine: AcceleratorTarget) -> Schedule:
        """Stages: `out_data`, the image in int32; `out_max`; `out`."""
        rows, columns = workload.windows
        data = placeholder(workload.data, INT8, "data")
        loaded = in_accumulators(data, "out_data", DATA_AXES)
        ky, kx = reduce_axis(rows.kernel, "ky"), reduce_axis(columns.kernel, "kx")

        def element(n: Expr, oc: Expr, y: Expr, x: Expr, b: Expr, bo: Expr) -> Reduction:
            row, column = rows.place(y, ky), columns.place(x, kx)
            pixel = loaded[n, oc, row - rows.before, column - columns.before, b, bo]
            valid = [*_within(rows, row), *_within(columns, column)]
            if valid:
                pixel = te.select(te.all_of(*valid), pixel, LEAST)
            return te.max(pixel, (ky, kx), start=LEAST)

        shape = (*data.shape[:2], rows.count, columns.count, *data.shape[4:])
        output, _ = workload.epilogue.compute(compute(shape, element, "out_max", DATA_AXES))
        return Schedule.of(output, inputs=(data,))

    def sketch(self, workload: MaxPoolWorkload, machine: AcceleratorTarget) -> OpenTrace:
        steps = self.tiled()
        for stage in ("out_max", "out_data"):
            steps = steps.set_scope(stage, OnChip.ACC).compute_at(stage, "out", "thread")
        steps = steps.reorder("out_max", "ky", "kx", "n", "oc", "y", "x", "b", "bo")
        steps = steps.decompose_reduction("out_max", "ky")
        if any(each.before or _reaches_over(each) for each in workload.windows):
            steps = steps.skip_terms("out_max")
        config = machine.config
        return (
            steps.tensorize("out_max", "b", two_operands(config, AluOp.MAX).function)
            .tensorize("out_max_init", "b", fill(config, LEAST).function)
            .trace
        )


def _within(window: Window, place: Expr) -> list[Expr]:
    """When a place, counted from the first element of padding, holds data."""
    low = [place >= window.before] if window.before else []
    return [*low, place < window.before + window.extent] if _reaches_over(window) else low


def _reaches_over(window: Window) -> bool:
    """Whether the last window goes beyond the image."""
    last = (window.count - 1) * window.stride + (window.kernel - 1) * window.dilation
    return last >= window.before + window.extent


def _seen(window: Window, sizes: Ints) -> Ints:
    """As `seen`; what may reach over the whole axis loads all of it."""
    tiles, reach = -(-window.count // sizes), _reach(window, sizes)
    return np.where(reach == window.extent, tiles * reach, seen(window, sizes))


def _reach(window: Window, count: Ints) -> Ints:
    """Elements from the first to the last that so many windows see, at most."""
    reach = (count - 1) * window.stride + (window.kernel - 1) * window.dilation + 1
    return np.where(count > 0, np.minimum(reach, window.extent), 0)

"""Max pooling on the ALU: an instruction a tap, over the outputs that have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler import te
from compiler.intrinsics.accelerator import fill, two_operands
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8
from compiler.ir.expr import Expr
from compiler.operators.accelerator.epilogue import (
    DATA_AXES,
    Pass,
    Step,
    epilogue,
    in_accumulators,
    operands_of,
)
from compiler.operators.accelerator.passes_schedule import place_passes, tensorize_passes
from compiler.operators.accelerator.tiles import Tile, choose_tile, cut
from compiler.operators.checks import refuse, show
from compiler.operators.window import Window, sees_data, windows
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, Tensor, compute, placeholder, reduce_axis
from compiler.te.tensor import Reduction
from hw.config import HardwareConfig
from hw.encoding import AluOp

__all__ = ["PackedMaxPool", "max_pool_schedule", "max_pool_tile", "packed_max_pool"]

LEAST = INT8.low
"""Where maxima begin: what the instructions have room for, unlike the least int32."""


@dataclass(frozen=True, slots=True)
class PackedMaxPool:
    """Max pooling of packed data.

    Attributes
    ----------
    data
        int8[N, C, H, W, B, L].
    loaded
        The same, in int32.
    maxima
        int32[N, C, OH, OW, B, L].
    passes
        What follows them, with the names of the stages that do it.
    output
        int8 of the same shape as the maxima.
    rows, columns
        The windows.
    """

    data: Tensor
    loaded: Tensor
    maxima: Tensor
    passes: tuple[Step, ...]
    output: Tensor
    rows: Window
    columns: Window


def packed_max_pool(
    data: Tensor,
    kernel: Sequence[int],
    passes: Sequence[Pass] = (),
    *,
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
    name: str = "max_pool",
) -> PackedMaxPool:
    """The greatest element under each window, padding never, and passes, to packed int8.

    Stages: `{name}_data`, `{name}_max`, those of `epilogue`, `name`.

    Parameters
    ----------
    data
        int8[N, C, H, W, B, L], in blocks of output channels.
    padding
        At the top, the left, the bottom, the right.
    ceil_mode
        A last window may go beyond the padding, if it begins before the padding that comes after.

    Raises
    ------
    TensorError
        Data of another rank or type; a window larger than the image, or one that sees nothing but
        padding.
    """
    if len(data.shape) != 6 or data.dtype != INT8:
        refuse("max_pool", name, f"{show(data)} has to be packed, int8[N, C, H, W, B, L]")
    n, channels, height, width, batch, lanes = data.shape
    image = placeholder((n, channels, height, width), INT8, data.name)
    slides = windows("max_pool", name, image, kernel, strides, padding, dilation, ceil_mode)
    sees_data("max_pool", name, image, slides)
    rows, columns = slides
    loaded = in_accumulators(data, f"{name}_data", DATA_AXES)
    ky, kx = reduce_axis(rows.kernel, "ky"), reduce_axis(columns.kernel, "kx")

    def element(i: Expr, oc: Expr, y: Expr, x: Expr, b: Expr, bo: Expr) -> Reduction:
        row, column = rows.place(y, ky), columns.place(x, kx)
        pixel = loaded[i, oc, row - rows.before, column - columns.before, b, bo]
        valid = [*_within(rows, row), *_within(columns, column)]
        if valid:
            pixel = te.select(te.all_of(*valid), pixel, LEAST)
        return te.max(pixel, (ky, kx), start=LEAST)

    shape = (n, channels, rows.count, columns.count, batch, lanes)
    maxima = compute(shape, element, f"{name}_max", DATA_AXES)
    output, steps = epilogue(maxima, passes, name)
    return PackedMaxPool(data, loaded, maxima, steps, output, rows, columns)


def _within(window: Window, place: Expr) -> list[Expr]:
    """When a place, counted from the first element of padding, holds data."""
    low = [place >= window.before] if window.before else []
    return [*low, place < window.before + window.extent] if _reaches_over(window) else low


def _reaches_over(window: Window) -> bool:
    """Whether the last window goes beyond the image."""
    last = (window.count - 1) * window.stride + (window.kernel - 1) * window.dilation
    return last >= window.before + window.extent


def max_pool_tile(pool: PackedMaxPool, config: HardwareConfig, threads: int = 2) -> Tile:
    """The tiles that load least. Raises `CapacityError` where one window does not fit."""

    def loaded(y: int, x: int) -> int:
        return _reach(pool.rows, y) * _reach(pool.columns, x)

    what = f"{pool.output.name} over {show(pool.data)}"
    return choose_tile(what, pool.output, pool.passes, config, threads, loaded, kept=1)


def _reach(window: Window, count: int) -> int:
    """Elements from the first to the last that so many windows see, at most."""
    if not count:
        return 0
    reach = (count - 1) * window.stride + (window.kernel - 1) * window.dilation + 1
    return min(reach, window.extent)


def max_pool_schedule(pool: PackedMaxPool, tile: Tile, target: AcceleratorTarget) -> Schedule:
    """The schedule with these tiles.

    for n, tiles of oc, y, x:
      for virtual threads:
        load a part of the image
        fill the tile with the least number
        for each tap: maximum over the outputs for which it is no padding
        the passes of the epilogue
        store
    """
    output, maxima, loaded = pool.output, pool.maxima.name, pool.loaded.name
    inputs = (pool.data, *operands_of(each for _, each in pool.passes))
    schedule = cut(Schedule.of(output, inputs=inputs), output, tile)
    schedule = place_passes(schedule, pool.passes, output, resident=tile.resident)
    for stage in (maxima, loaded):
        schedule = schedule.set_scope(stage, Scope.ACC).compute_at(stage, output.name, "thread")
    schedule = schedule.reorder(maxima, "ky", "kx", "n", "oc", "y", "x", "b", "bo")
    schedule = schedule.decompose_reduction(maxima, "ky")
    if any(each.before or _reaches_over(each) for each in (pool.rows, pool.columns)):
        schedule = schedule.skip_terms(maxima)
    config = target.config
    schedule = tensorize_passes(schedule, pool.passes, target)
    return schedule.tensorize(maxima, "b", two_operands(config, AluOp.MAX).function).tensorize(
        f"{maxima}_init", "b", fill(config, LEAST).function
    )

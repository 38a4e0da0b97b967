"""Means over whole images on the ALU: sums here, the division in what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler import te
from compiler.intrinsics.accelerator import fill, two_operands
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8
from compiler.ir.expr import Expr
from compiler.operators.accelerator.capacity import (
    Sizes,
    Space,
    cheapest,
    pieces,
    resident_or_not,
    shared_axis,
)
from compiler.operators.accelerator.epilogue import (
    DATA_AXES,
    Pass,
    Step,
    epilogue,
    in_accumulators,
    operands_of,
)
from compiler.operators.accelerator.passes_schedule import (
    OperandCounts,
    place_passes,
    tensorize_passes,
)
from compiler.operators.checks import refuse, show
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, Tensor, compute, reduce_axis
from compiler.te.tensor import Reduction
from hw.config import HardwareConfig
from hw.encoding import AluOp
from hw.memories import MemoryId

__all__ = [
    "GlobalPoolTiling",
    "PackedGlobalPool",
    "global_average_pool_schedule",
    "global_average_pool_tiling",
    "packed_global_average_pool",
]


@dataclass(frozen=True, slots=True)
class PackedGlobalPool:
    """Sums of whole images, and passes.

    Attributes
    ----------
    data
        int8[N, C, H, W, B, L].
    loaded
        The same, in int32.
    sums
        int32[N, C, 1, 1, B, L].
    passes
        What follows them, with the names of the stages that do it.
    output
        int8 of the same shape as the sums.
    """

    data: Tensor
    loaded: Tensor
    sums: Tensor
    passes: tuple[Step, ...]
    output: Tensor


@dataclass(frozen=True, slots=True)
class GlobalPoolTiling:
    """Sizes of a tile of the output, and of a step of the sum.

    Attributes
    ----------
    oc
        Blocks of channels.
    y, x
        Rows and columns of the image in a step.
    threads
        Virtual threads, which share tiles of oc.
    resident
        Operands for each channel are loaded once and stay; otherwise each tile loads its own.
    """

    oc: int
    y: int
    x: int
    threads: int = 2
    resident: bool = True


def packed_global_average_pool(
    data: Tensor, passes: Sequence[Pass], *, name: str = "global_average_pool"
) -> PackedGlobalPool:
    """The sum over all pixels, and passes, which divide by their number.

    Stages: `{name}_data`, `{name}_sum`, those of `epilogue`, `name`.

    Parameters
    ----------
    data
        int8[N, C, H, W, B, L], in blocks of output channels.
    passes
        Of a requantisation, say, whose multiplier has the factor 1 / (H * W).

    Raises
    ------
    TensorError
        Data of another rank or type, or without pixels.
    """
    operator = "global_average_pool"
    if len(data.shape) != 6 or data.dtype != INT8:
        refuse(operator, name, f"{show(data)} has to be packed, int8[N, C, H, W, B, L]")
    n, channels, height, width, batch, lanes = data.shape
    if not height * width:
        refuse(operator, name, f"{show(data)} has no pixels: nothing to pool")
    loaded = in_accumulators(data, f"{name}_data", DATA_AXES)
    ky, kx = reduce_axis(height, "ky"), reduce_axis(width, "kx")

    def element(i: Expr, oc: Expr, y: Expr, x: Expr, b: Expr, bo: Expr) -> Reduction:
        return te.sum(loaded[i, oc, y + ky, x + kx, b, bo], (ky, kx))

    sums = compute((n, channels, 1, 1, batch, lanes), element, f"{name}_sum", DATA_AXES)
    output, steps = epilogue(sums, passes, name)
    return PackedGlobalPool(data, loaded, sums, steps, output)


def global_average_pool_tiling(
    pool: PackedGlobalPool, config: HardwareConfig, threads: int = 2
) -> GlobalPoolTiling:
    """The fewest steps that fit. Raises `CapacityError` where one pixel does not."""
    _, channels, height, width, _, _ = pool.data.shape
    extents = {"oc": channels, "y": height, "x": width}
    _, threads = shared_axis({"oc": channels}, threads)
    counts = OperandCounts.of(pool.passes)

    def tiling(resident: bool) -> GlobalPoolTiling:
        def use(sizes: Sizes) -> dict[MemoryId, int]:
            oc, y, x = sizes
            operands = counts.channels * (channels if resident else threads * oc)
            return {MemoryId.ACC: threads * oc * (y * x + 1 + counts.elements) + operands}

        def cost(sizes: Sizes) -> tuple[int, int]:
            oc, y, x = map(pieces, extents.values(), sizes)
            return oc * y * x, -sizes[-1]

        what = f"{pool.output.name} over {show(pool.data)}"
        most = {"oc": pieces(channels, threads)}
        oc, y, x = cheapest(Space(what, extents, use, cost, most), config)
        return GlobalPoolTiling(oc, y, x, threads, resident)

    return resident_or_not(tiling, counts.channels * channels, config)


def global_average_pool_schedule(
    pool: PackedGlobalPool, tiling: GlobalPoolTiling, target: AcceleratorTarget
) -> Schedule:
    """The schedule with these tiles.

    for n, tiles of oc:
      for virtual threads:
        reset the tile's sums
        for steps of y, x:
          load a part of the image, add its pixels
        the passes of the epilogue
        store
    """
    out, sums, loaded = pool.output.name, pool.sums.name, pool.loaded.name
    inputs = (pool.data, *operands_of(each for _, each in pool.passes))
    schedule = (
        Schedule.of(pool.output, inputs=inputs)
        .split(out, "oc", tiling.oc, ("oc_o", "oc_i"))
        .split(out, "oc_o", tiling.threads, ("oc_o", "thread"))
        .virtual_thread(out, "thread")
    )
    schedule = place_passes(schedule, pool.passes, pool.output, resident=tiling.resident)
    schedule = schedule.set_scope(sums, Scope.ACC).compute_at(sums, out, "thread")
    for axis, size in (("ky", tiling.y), ("kx", tiling.x)):
        schedule = schedule.split(sums, axis, size, (f"{axis}_o", f"{axis}_i"))
    schedule = (
        schedule.reorder(sums, "ky_o", "kx_o", "n", "oc", "y", "x", "ky_i", "kx_i", "b", "bo")
        .decompose_reduction(sums, "ky_o")
        .set_scope(loaded, Scope.ACC)
        .compute_at(loaded, sums, "kx_o")
    )
    config = target.config
    schedule = tensorize_passes(schedule, pool.passes, target)
    return schedule.tensorize(sums, "b", two_operands(config, AluOp.ADD).function).tensorize(
        f"{sums}_init", "b", fill(config, 0).function
    )

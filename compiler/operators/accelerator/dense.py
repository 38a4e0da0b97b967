"""Products of vectors with a matrix on the GEMM array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler import te
from compiler.intrinsics.accelerator import fill, gemm
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.operators.accelerator.capacity import (
    Sizes,
    Space,
    cheapest,
    pieces,
    resident_or_not,
    shared_axis,
)
from compiler.operators.accelerator.epilogue import Pass, Step, epilogue, operands_of
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
from hw.memories import MemoryId

__all__ = ["DenseTiling", "PackedDense", "dense_schedule", "dense_tiling", "packed_dense"]


@dataclass(frozen=True, slots=True)
class PackedDense:
    """A dense layer in the accelerator's layouts.

    Attributes
    ----------
    data, weight
        int8[N, IC, B, K] and int8[OC, IC, L, K].
    sums
        int32[N, OC, B, L].
    passes
        What follows them, with the names of the stages that do it.
    output
        int8 of the same shape.
    """

    data: Tensor
    weight: Tensor
    sums: Tensor
    passes: tuple[Step, ...]
    output: Tensor


@dataclass(frozen=True, slots=True)
class DenseTiling:
    """Sizes of a tile of the output, and of a step of the sum, in blocks.

    Attributes
    ----------
    n, oc
        Of the batch and of output channels.
    ic
        Of input channels, in a step of the sum.
    threads
        Virtual threads.
    along
        The axis whose tiles they share: n or oc.
    resident
        Operands for each channel are loaded once and stay; otherwise each tile loads its own.
    """

    n: int
    oc: int
    ic: int
    threads: int = 2
    along: str = "oc"
    resident: bool = True


def packed_dense(
    data: Tensor, weight: Tensor, passes: Sequence[Pass], *, name: str = "dense"
) -> PackedDense:
    """A product of packed int8, `data` times the transposed `weight`, and passes, to packed int8.

    Stages: `{name}_sum`, those of `epilogue`, `name`.

    Parameters
    ----------
    data, weight
        int8[N, IC, B, K] and int8[OC, IC, L, K].

    Raises
    ------
    TensorError
        Shapes and types that do not fit together.
    """
    for tensor, packed in ((data, "int8[N, IC, B, K]"), (weight, "int8[OC, IC, L, K]")):
        if len(tensor.shape) != 4 or tensor.dtype != INT8:
            refuse("dense", name, f"{show(tensor)} has to be packed, {packed}")
    n, inputs, batch, depth = data.shape
    outputs, channels, lanes, inner = weight.shape
    if (inputs, depth) != (channels, inner):
        refuse("dense", name, f"{show(weight)} has other input channels than {show(data)}")
    ic, bi = reduce_axis(inputs, "ic"), reduce_axis(depth, "bi")

    def element(i: Expr, oc: Expr, b: Expr, bo: Expr) -> Reduction:
        product = te.cast(data[i, ic, b, bi], INT32) * te.cast(weight[oc, ic, bo, bi], INT32)
        return te.sum(product, (ic, bi))

    shape = (n, outputs, batch, lanes)
    sums = compute(shape, element, f"{name}_sum", ("n", "oc", "b", "bo"))
    output, steps = epilogue(sums, passes, name)
    return PackedDense(data, weight, sums, steps, output)


def dense_tiling(dense: PackedDense, config: HardwareConfig, threads: int = 2) -> DenseTiling:
    """The tiles that load least from DRAM; of these, the fewest.

    Raises
    ------
    CapacityError
        Where not even tiles of single blocks fit.
    """
    rows, outputs, _, _ = dense.sums.shape
    inputs = dense.data.shape[1]
    along, threads = shared_axis({"oc": outputs, "n": rows}, threads)
    extents = {"n": rows, "oc": outputs, "ic": inputs}
    counts = OperandCounts.of(dense.passes)
    data, weight = config.element_bytes(MemoryId.INP), config.element_bytes(MemoryId.WGT)

    def tiling(resident: bool) -> DenseTiling:
        def use(sizes: Sizes) -> dict[MemoryId, int]:
            n, oc, ic = sizes
            operands = counts.channels * (outputs if resident else threads * oc)
            return {
                MemoryId.ACC: threads * n * oc * (1 + counts.elements) + operands,
                MemoryId.INP: threads * n * ic,
                MemoryId.WGT: threads * oc * ic,
            }

        def cost(sizes: Sizes) -> tuple[int, int]:
            of_n, of_oc, of_ic = map(pieces, (rows, outputs, inputs), sizes)
            traffic = inputs * (rows * of_oc * data + outputs * of_n * weight)
            return traffic, of_n * of_oc * of_ic

        what = f"{dense.output.name}, {show(dense.data)} times {show(dense.weight)},"
        most = {along: pieces(extents[along], threads)}
        n, oc, ic = cheapest(Space(what, extents, use, cost, most), config)
        return DenseTiling(n, oc, ic, threads, along, resident)

    return resident_or_not(tiling, counts.channels * outputs, config)


def dense_schedule(dense: PackedDense, tiling: DenseTiling, target: AcceleratorTarget) -> Schedule:
    """The schedule with these tiles.

    for tiles of n, oc:
      for virtual threads:
        reset the tile's sums
        for steps of ic:
          load data, load weights, multiply
        the passes of the epilogue
        store
    """
    out, sums = dense.output.name, dense.sums.name
    inputs = (dense.data, dense.weight, *operands_of(each for _, each in dense.passes))
    schedule = Schedule.of(dense.output, inputs=inputs)
    for axis, size in (("n", tiling.n), ("oc", tiling.oc)):
        schedule = schedule.split(out, axis, size, (f"{axis}_o", f"{axis}_i"))
    outer = f"{tiling.along}_o"
    schedule = (
        schedule.split(out, outer, tiling.threads, (outer, "thread"))
        .reorder(out, "n_o", "oc_o", "thread", "n_i", "oc_i", "b", "bo")
        .virtual_thread(out, "thread")
    )
    schedule = place_passes(schedule, dense.passes, dense.output, resident=tiling.resident)
    schedule = schedule.set_scope(sums, Scope.ACC).compute_at(sums, out, "thread")
    schedule = (
        schedule.split(sums, "ic", tiling.ic, ("ic_o", "ic_i"))
        .reorder(sums, "ic_o", "n", "oc", "ic_i", "b", "bo", "bi")
        .decompose_reduction(sums, "ic_o")
    )
    for source, scope, copy in (
        (dense.data, Scope.INP, f"{out}_data"),
        (dense.weight, Scope.WGT, f"{out}_weight"),
    ):
        schedule = schedule.cache_read(source.name, (sums,), scope, copy)
        schedule = schedule.compute_at(copy, sums, "ic_o")
    schedule = tensorize_passes(schedule, dense.passes, target)
    return schedule.tensorize(sums, "b", gemm(target.config).function).tensorize(
        f"{sums}_init", "b", fill(target.config, 0).function
    )

"""Dense layers whose sums leave the accelerator whole, byte by byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compiler import te
from compiler.intrinsics.accelerator import alu_value, fill, gemm, two_operands
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.operators.accelerator.capacity import Sizes, Space, cheapest, pieces, shared_axis
from compiler.operators.accelerator.dense import DenseTiling, packed_dense
from compiler.operators.checks import show
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, Tensor, compute, placeholder
from hw.config import HardwareConfig
from hw.encoding import AluOp
from hw.memories import MemoryId

__all__ = ["PLANES", "WideDense", "amounts", "wide_dense", "wide_dense_schedule", "wide_tiling"]

PLANES = 4
"""Bytes of a sum."""


@dataclass(frozen=True, slots=True)
class WideDense:
    """A dense layer, and its sums in bytes.

    Attributes
    ----------
    data, weight
        int8[N, IC, B, K] and int8[OC, IC, L, K].
    amounts
        int32[4, B, L]: by how much sums are shifted for each byte; see `amounts`.
    sums
        int32[N, OC, B, L].
    moved
        int32[4, N, OC, B, L]: the sums, shifted.
    output
        int8 of the same shape: the low bytes of these, lowest first.
    """

    data: Tensor
    weight: Tensor
    amounts: Tensor
    sums: Tensor
    moved: Tensor
    output: Tensor


def amounts(config: HardwareConfig) -> npt.NDArray[np.int32]:
    """The value of the tensor `amounts`."""
    bits = 8 * np.arange(PLANES, dtype=np.int32)[:, None, None]
    return np.broadcast_to(bits, (PLANES, config.batch, config.block_out)).copy()


def wide_dense(data: Tensor, weight: Tensor, *, name: str = "dense") -> WideDense:
    """A product of packed int8, `data` times the transposed `weight`.

    Stages: `{name}_sum`, `{name}_moved`, `name`; a placeholder `{name}_amounts`.

    Raises
    ------
    TensorError
        As `packed_dense`.
    """
    sums = packed_dense(data, weight, [], name=name).sums
    n, outputs, batch, lanes = sums.shape
    shifts = placeholder((PLANES, batch, lanes), INT32, f"{name}_amounts")

    def shifted(p: Expr, i: Expr, oc: Expr, b: Expr, bo: Expr) -> Expr:
        return alu_value(AluOp.SHR, sums[i, oc, b, bo], shifts[p, b, bo])

    axes = ("p", "n", "oc", "b", "bo")
    moved = compute((PLANES, n, outputs, batch, lanes), shifted, f"{name}_moved", axes)
    output = compute(moved.shape, lambda *at: te.cast(moved[at], INT8), name, axes)
    return WideDense(data, weight, shifts, sums, moved, output)


def wide_tiling(dense: WideDense, config: HardwareConfig, threads: int = 2) -> DenseTiling:
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
    data, weight = config.element_bytes(MemoryId.INP), config.element_bytes(MemoryId.WGT)

    def use(sizes: Sizes) -> dict[MemoryId, int]:
        n, oc, ic = sizes
        return {
            MemoryId.ACC: threads * n * oc * (1 + PLANES) + PLANES,
            MemoryId.INP: threads * n * ic,
            MemoryId.WGT: threads * oc * ic,
        }

    def cost(sizes: Sizes) -> tuple[int, int]:
        of_n, of_oc, of_ic = map(pieces, (rows, outputs, inputs), sizes)
        return inputs * (rows * of_oc * data + outputs * of_n * weight), of_n * of_oc * of_ic

    what = f"{dense.output.name}, {show(dense.data)} times {show(dense.weight)},"
    most = {along: pieces(extents[along], threads)}
    n, oc, ic = cheapest(Space(what, extents, use, cost, most), config)
    return DenseTiling(n, oc, ic, threads, along)


def wide_dense_schedule(
    dense: WideDense, tiling: DenseTiling, target: AcceleratorTarget
) -> Schedule:
    """As `dense_schedule`; instead of passes, each byte is shifted to the bottom and stored."""
    out, sums, moved = dense.output.name, dense.sums.name, dense.moved.name
    inputs = (dense.data, dense.weight, dense.amounts)
    schedule = Schedule.of(dense.output, inputs=inputs)
    for axis, size in (("n", tiling.n), ("oc", tiling.oc)):
        schedule = schedule.split(out, axis, size, (f"{axis}_o", f"{axis}_i"))
    outer = f"{tiling.along}_o"
    schedule = (
        schedule.split(out, outer, tiling.threads, (outer, "thread"))
        .reorder(out, "n_o", "oc_o", "thread", "p", "n_i", "oc_i", "b", "bo")
        .virtual_thread(out, "thread")
    )
    for stage in (moved, sums):
        schedule = schedule.set_scope(stage, Scope.ACC).compute_at(stage, out, "thread")
    schedule = schedule.cache_read(
        dense.amounts.name, (moved,), Scope.ACC, f"{dense.amounts.name}_acc"
    )
    schedule = (
        schedule.split(sums, "ic", tiling.ic, ("ic_o", "ic_i"))
        .reorder(sums, "ic_o", "n", "oc", "ic_i", "b", "bo", "bi")
        .decompose_reduction(sums, "ic_o")
    )
    for source, scope, copy in (
        (dense.weight, Scope.WGT, f"{out}_weight"),
        (dense.data, Scope.INP, f"{out}_data"),
    ):
        schedule = schedule.cache_read(source.name, (sums,), scope, copy)
        schedule = schedule.compute_at(copy, sums, "ic_o")
    config = target.config
    return (
        schedule.tensorize(moved, "b", two_operands(config, AluOp.SHR).function)
        .tensorize(sums, "b", gemm(config).function)
        .tensorize(f"{sums}_init", "b", fill(config, 0).function)
    )

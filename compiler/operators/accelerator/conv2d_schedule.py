"""Schedules of convolutions: tiles of the output, steps of the sum, virtual threads."""

from __future__ import annotations

from compiler.errors import LoweringError
from compiler.intrinsics.accelerator import fill, gemm
from compiler.ir.buffer import Scope
from compiler.operators.accelerator.conv2d import PackedConv2d
from compiler.operators.accelerator.epilogue import operands_of
from compiler.operators.accelerator.passes_schedule import place_passes, tensorize_passes
from compiler.operators.accelerator.tiling import Order, Tiling
from compiler.target import AcceleratorTarget
from compiler.te import Schedule

__all__ = ["conv2d_schedule"]


def conv2d_schedule(conv: PackedConv2d, tiling: Tiling, target: AcceleratorTarget) -> Schedule:
    """The schedule with these tiles.

        for n, tiles of oc, y, x:
          for virtual threads:
            reset the tile's sums
            for steps of ic:
              load weights, load a part of the image, multiply
            the passes of the epilogue
            store

    With the order WEIGHTS (or IMAGE) the loop over blocks of output channels (or over parts of the
    image) is outside, and weights (the part of the image) are loaded there, for the whole sum.

    Raises
    ------
    LoweringError
        For threads along the axis that what stays on chip is for.
    """
    out, sums = conv.output.name, conv.sums.name
    inputs = (conv.data, conv.weight, *operands_of(each for _, each in conv.passes))
    schedule = Schedule.of(conv.output, inputs=inputs)
    for axis, size in (("oc", tiling.oc), ("y", tiling.y), ("x", tiling.x)):
        schedule = schedule.split(out, axis, size, (f"{axis}_o", f"{axis}_i"))
    schedule = schedule.split(
        out, f"{tiling.along}_o", tiling.threads, (f"{tiling.along}_o", "thread")
    )
    outer = _outer(tiling)
    schedule = schedule.reorder(out, "n", *outer, "thread", "oc_i", "y_i", "x_i", "b", "bo")
    schedule = schedule.virtual_thread(out, "thread")
    schedule = schedule.set_scope(sums, Scope.ACC)
    schedule = place_passes(schedule, conv.passes, conv.output)
    schedule = schedule.compute_at(sums, out, "thread")
    schedule = schedule.split(sums, "ic", tiling.ic, ("ic_o", "ic_i"))
    schedule = schedule.reorder(
        sums, "ic_o", "n", "oc", "y", "x", "ic_i", "ky", "kx", "b", "bo", "bi"
    ).decompose_reduction(sums, "ic_o")
    schedule = _inputs(schedule, conv, tiling, outer)
    schedule = tensorize_passes(schedule, conv.passes, target)
    config = target.config
    return schedule.tensorize(sums, "b", gemm(config).function).tensorize(
        f"{sums}_init", "b", fill(config, 0).function
    )


def _outer(tiling: Tiling) -> tuple[str, ...]:
    if tiling.order is Order.IMAGE:
        if tiling.along != "oc":
            raise LoweringError(f"{tiling}: a part of the image stays, threads share oc")
        return "y_o", "x_o", "oc_o"
    if tiling.order is Order.WEIGHTS and tiling.along == "oc":
        raise LoweringError(f"{tiling}: weights stay, threads share y or x")
    return "oc_o", "y_o", "x_o"


def _inputs(
    schedule: Schedule, conv: PackedConv2d, tiling: Tiling, outer: tuple[str, ...]
) -> Schedule:
    out, sums = conv.output.name, conv.sums.name
    image = f"{out}_data"
    if conv.padded is conv.data:
        schedule = schedule.cache_read(conv.data.name, (sums,), Scope.INP, image)
    else:
        image = conv.padded.name
        schedule = schedule.set_scope(image, Scope.INP)
    weight = f"{out}_weight"
    schedule = schedule.cache_read(conv.weight.name, (sums,), Scope.WGT, weight)
    # Weights first: they wait for nobody, where the image may still be being stored by the operator
    # before.
    at = (out, outer[0]) if tiling.order is Order.WEIGHTS else (sums, "ic_o")
    schedule = schedule.compute_at(weight, *at)
    at = (out, outer[1]) if tiling.order is Order.IMAGE else (sums, "ic_o")
    return schedule.compute_at(image, *at)

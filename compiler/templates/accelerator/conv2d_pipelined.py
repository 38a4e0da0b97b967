"""Convolutions whose loads and passes overlap within one tile: the wide space of `conv2d`."""

from __future__ import annotations

from compiler.intrinsics.accelerator import fill, gemm
from compiler.intrinsics.scopes import OnChip
from compiler.target import AcceleratorTarget
from compiler.te.knobs import OpenTrace, knob
from compiler.templates.accelerator.conv2d_cycles import Conv2dWorkload
from compiler.templates.accelerator.tiling import tile_output

ORDERS = {"outputs": ("oc", "y", "x"), "pixels": ("y", "x", "oc")}


def sketch(workload: Conv2dWorkload, machine: AcceleratorTarget) -> OpenTrace:
    out, sums, epilogue = "out", "out_sum", workload.epilogue
    axes = ("oc", "y", "x")
    outer = {order: tuple(f"{axis}_o" for axis in loops) for order, loops in ORDERS.items()}
    inner = ("thread", "oc_i", "y_i", "x_i", "b", "bo")
    order = knob("order", {each: ("n", *outer[each], *inner) for each in outer})
    steps = tile_output(axes, axes, (order,)).set_scope(sums, OnChip.ACC)
    steps = epilogue.load_inputs(epilogue.place(steps).compute_at(sums, out, "thread"))
    steps = (
        steps.split(sums, "ic", knob("ic"), ("ic_o", "ic_i"))
        .split(sums, "oc", knob("part"), ("part", "oc"))
        .reorder(sums, "ic_o", "part", "n", "oc", "y", "x", "ic_i", "ky", "kx", "b", "bo", "bi")
        .decompose_reduction(sums, "ic_o")
        .eager(f"{sums}_init", "part")
    )
    for stage in epilogue.stages:
        steps = steps.split(stage, "oc", knob("part"), ("part", "oc")).eager(stage, "part")
    steps = steps.split(out, "oc_i", knob("part"), ("part", "oc_i")).eager(out, "part")
    if any(workload.padding):
        image = "out_pad"
        steps = steps.set_scope(image, OnChip.INP)
    else:
        image = "out_data"
        steps = steps.cache_read("data", (sums,), OnChip.INP, image)
    steps = steps.cache_read("weight", (sums,), OnChip.WGT, "out_weight")
    steps = steps.compute_at("out_weight", sums, "part").compute_at(image, sums, "ic_o")
    steps = steps.multi_buffer("out_weight", knob("weight_slots"))
    steps = steps.multi_buffer(image, knob("image_slots"))
    config = machine.config
    return (
        epilogue.tensorize(steps, config)
        .tensorize(sums, "b", gemm(config).function)
        .tensorize(f"{sums}_init", "b", fill(config, 0).function)
        .trace
    )

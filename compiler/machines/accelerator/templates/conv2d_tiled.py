"""The base space of convolutions: tiles that virtual threads share.

::

    for n, tiles of oc, y, x:
      for virtual threads:
        reset the tile's sums
        for steps of ic:
          load weights, load a part of the image, multiply
        the passes of the epilogue
        store

The operand that stays on chip (knob `order`) is loaded in an outer loop, for the whole sum.
Threads share the tiles of one axis (knob `along`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tandem.compiler.machines.accelerator.intrinsics.base import gemm
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue
from tandem.compiler.machines.accelerator.templates.tiling import (
    operand_accumulators,
    parameter_usage,
    resident_operands,
    tensorize_reduction,
    tile_output,
)
from tandem.compiler.machines.accelerator.templates.traffic import loaded_elements
from tandem.compiler.machines.accelerator.templates.work_counts import (
    ReductionWork,
    TransferCounts,
    WorkCounts,
    kernel_length,
    thread_redundancy,
    tile_shapes,
)
from tandem.compiler.plan.space import Bools, Choices, Ints, Space, tile_sizes
from tandem.compiler.te.knobs import OpenTrace, knob
from tandem.compiler.te.schedule import Sketch
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

ORDERS: Mapping[str, tuple[str, ...]] = {
    "outputs": ("oc", "y", "x"),
    "weights": ("oc", "y", "x"),
    "image": ("y", "x", "oc"),
}
"""The loops over tiles, by the operand that stays on chip. `outputs`: each tile loads its weights
and its part of the image, step by step; `weights`: the weights of a tile of output channels stay
for all parts of the image; `image`: a part of the image stays for all tiles of output channels."""
KEPT_LOOPS: Mapping[str, int] = {"outputs": 0, "weights": 1, "image": 2}
"""Number of outer loops around the load of the operand that stays."""


def space(workload: Conv2dWorkload, machine: AcceleratorTarget) -> Space:
    """The knobs: threads and what they share, sizes of tiles and steps, what stays on chip."""
    extents = workload.extents
    return Space(
        {
            "threads": (2, 1),
            **{axis: tile_sizes(extents[axis]) for axis in ("ic", "oc", "x", "y")},
            "order": tuple(ORDERS),
            "along": ("oc", "y", "x"),
            **({} if _operands_stay(workload, machine) else {"resident": (0,)}),
        },
        partial(_consistent, workload),
    )


def _operands_stay(workload: Conv2dWorkload, machine: AcceleratorTarget) -> bool:
    """Whether the operands of all channels stay on chip: they do not fill ACC."""
    operands = len(workload.epilogue.channel_operands) * workload.weight[0]
    return operands < machine.config.depth(MemoryId.ACC)


def _consistent(workload: Conv2dWorkload, choices: Choices) -> Bools:
    """Whether the operand that stays serves all threads and the whole sum, and each step reads a
    contiguous part of the image."""
    image, weights = choices.equals("order", "image"), choices.equals("order", "weights")
    shares_channels = choices.equals("along", "oc")
    possible = ~(image & ~shares_channels) & ~(weights & shares_channels)
    possible &= choices.equals("order", "outputs") | (choices["ic"] == workload.weight[1])
    if workload.groups > 1:
        own = workload.blocks_per_group
        within = own % choices["oc"] == 0
        whole = (choices["oc"] % own == 0) & (choices["ic"] == workload.weight[1])
        possible &= within | whole
    return possible


# Schedule -----------------------------------------------------------------------------------------


def sketch(workload: Conv2dWorkload, machine: AcceleratorTarget) -> OpenTrace:
    """The schedule primitives, with open knobs."""
    sums, epilogue, config = "out_sum", workload.epilogue, machine.config
    axes = ("oc", "y", "x")
    order = (knob("order", {name: loops_of_tiles(*loops) for name, loops in ORDERS.items()}),)
    resident = None if _operands_stay(workload, machine) else "resident"
    steps = sum_in_steps(tiles_of_sums(epilogue, axes, axes, order, resident=resident))
    steps, image = image_on_chip(steps, workload)
    steps = steps.cache_read("weight", (sums,), OnChip.WGT, "out_weight")
    # Weights first: they are constant, while the previous operator may still store the image.
    for copy, stays in (("out_weight", "weights"), (image, "image")):
        loops = {name: (sums, "ic_o") for name in ORDERS}
        loops[stays] = "out", f"{ORDERS[stays][KEPT_LOOPS[stays] - 1]}_o"
        reader, axis = (
            knob("order", {setting: names[part] for setting, names in loops.items()})
            for part in (0, 1)
        )
        steps = steps.compute_at(copy, reader, axis)
    return tensorized(steps, epilogue, config).trace


def loops_of_tiles(*axes: str) -> tuple[str, ...]:
    """The output's loops for tiles along these axes, outermost first: `n` has tiles, too, or is
    outside of all loops."""
    images = () if "n" in axes else ("n",)
    return (*images, *(f"{axis}_o" for axis in axes), "thread", *loops_in_tile(*axes))


def loops_in_tile(*axes: str) -> tuple[str, ...]:
    """The output's loops within a tile along these axes."""
    inner = ("n", "oc", "y", "x")[0 if "n" in axes else 1 :]
    return (*(f"{axis}_i" if axis in axes else axis for axis in inner), "b", "bo")


def tiles_of_sums(
    epilogue: Epilogue,
    axes: Sequence[str],
    along: Sequence[str],
    order: Any,
    *,
    resident: str | None = None,
) -> Sketch:
    """The loops over tiles, which threads share, with sums and passes at the loop `thread`.

    Parameters
    ----------
    axes, along, order
        As for `tile_output`.
    resident
        As for `Epilogue.place`.
    """
    steps = tile_output(axes, along, order).set_scope("out_sum", OnChip.ACC)
    steps = epilogue.place(steps, resident).compute_at("out_sum", "out", "thread")
    return epilogue.load_inputs(steps)


def sum_in_steps(steps: Sketch) -> Sketch:
    """Splits the sum into steps of input channels."""
    steps = steps.split("out_sum", "ic", knob("ic"), ("ic_o", "ic_i"))
    return steps.reorder("out_sum", "ic_o", *"n oc y x ic_i ky kx b bo bi".split())


def image_on_chip(steps: Sketch, workload: Conv2dWorkload) -> tuple[Sketch, str]:
    """Holds what windows read in INP, in the stage of the padded image or in a copy of the data;
    returns the stage's name, too."""
    if any(workload.padding):
        return steps.set_scope("out_pad", OnChip.INP), "out_pad"
    return steps.cache_read("data", ("out_sum",), OnChip.INP, "out_data"), "out_data"


def tensorized(steps: Sketch, epilogue: Epilogue, config: HardwareConfig) -> Sketch:
    """Tensorizes passes and sums; call last, as loops are then fixed."""
    steps = epilogue.tensorize(steps, config)
    return tensorize_reduction(steps, "out_sum", gemm(config).function, config)


# Counts -------------------------------------------------------------------------------------------


def usage(workload: Conv2dWorkload, choices: Choices) -> dict[MemoryId, Ints]:
    """Elements of each memory that a choice takes."""
    extents, epilogue = workload.extents, workload.epilogue
    tile = choices.at_most(extents)
    threads, oc, y, x = (tile[axis] for axis in ("threads", "oc", "y", "x"))
    image, weights = choices.equals("order", "image"), choices.equals("order", "weights")
    # An operand that stays has one buffer for all threads; else there is a buffer per thread.
    own_image, own_weights = np.where(image, 1, threads), np.where(weights, 1, threads)
    shared = {
        axis: choices.equals("along", axis) & (tile[axis] < extents[axis])
        for axis in ("oc", "y", "x")
    }
    of_oc, of_y, of_x = (
        np.where(kept & shared[axis], threads, 1)
        for kept, axis in ((weights, "oc"), (image, "y"), (image, "x"))
    )
    outputs = workload.weight[0]
    rows, columns = workload.input_extent(0, of_y * y), workload.input_extent(1, of_x * x)
    channels, inputs = workload.weight[1], workload.data[1]
    blocks = np.minimum((workload.spanned_groups(oc) - 1) * channels + choices["ic"], inputs)
    return {
        MemoryId.ACC: threads * oc * y * x * (1 + epilogue.element_operands)
        + operand_accumulators(tile, epilogue, outputs),
        MemoryId.INP: own_image
        * np.minimum(rows, workload.padded[0])
        * np.minimum(columns, workload.padded[1])
        * np.where(image, inputs, blocks)
        + threads * oc * y * x * epilogue.input_operands,
        MemoryId.WGT: own_weights
        * workload.weight_blocks(np.minimum(of_oc * oc, outputs))
        * np.where(weights, channels, tile["ic"])
        * workload.taps,
        **parameter_usage(epilogue, outputs, threads * oc),
    }


def loads(workload: Conv2dWorkload, choices: Choices) -> tuple[TransferCounts, TransferCounts]:
    """The LOADs of weights and of the image, where no two threads compute the same tile."""
    images, extents = workload.data[0], workload.extents
    oc, y, x, ic = (choices[axis] for axis in ("oc", "y", "x", "ic"))
    kept = {each: choices.equals("order", each) for each in ("weights", "image")}
    parts, oc_tiles = -(-extents["y"] // y) * -(-extents["x"] // x), -(-extents["oc"] // oc)
    # Number of groups that a tile reads, and of reads of each group.
    groups = np.where(kept["image"], workload.groups, workload.spanned_groups(oc))
    times = np.where(kept["image"], 1, oc_tiles)
    # A group's last step continues into the next group, if there is one.
    last_group, steps = 1 / workload.groups, -(-extents["ic"] // ic)
    beyond = steps * ic - extents["ic"]
    image = (
        (
            np.asarray(count * times * share),
            (groups * depth, *_input_tile(workload, rows, columns)),
        )
        for count, (rest, rows, columns) in tile_shapes(
            (extents["ic"], extents["y"], extents["x"]), (ic, y, x)
        )
        for share, depth in ((last_group, rest), (1 - last_group, ic))
    )
    pixels = prod(
        loaded_elements(window, sizes)
        for window, sizes in zip(workload.windows, (y, x), strict=True)
    )
    # The remainder of an axis spans fewer groups than whole tiles.
    spans = np.where(kept["image"], workload.groups, np.maximum(oc_tiles, workload.groups))
    of_image = replace(
        workload.image_loads(image),
        elements=(steps * ic - last_group * beyond) * spans * pixels,
    )
    of_weights = workload.weight_loads(oc, ic, workload.taps)
    parts = np.where(kept["weights"], 1, parts)
    return of_weights.times(images * parts), of_image.times(np.asarray(images))


def work_counts(
    workload: Conv2dWorkload, choices: Choices, *more: TransferCounts, planes: int = 0
) -> WorkCounts:
    """The traffic and arithmetic of the programs of choices.

    Parameters
    ----------
    more
        LOADs beside those of operands.
    planes
        As in `WorkCounts.of`.
    """
    extents, ic = workload.extents, choices["ic"]
    oc, *pixels = (choices[axis] for axis in ("oc", "y", "x"))
    axes = {axis: extents[axis] for axis in ("oc", "y", "x")}
    redundancy = thread_redundancy(choices, axes)
    copies = (
        of.times(np.where(choices.equals("order", stays), 1, redundancy))
        for of, stays in zip(loads(workload, choices), ("weights", "image"), strict=True)
    )
    size = workload.data[0] * prod(axes.values())
    # If a tile spans several groups, each block has its own GEMM instructions.
    spans = (workload.spanned_groups(oc) > 1) & (workload.blocks_per_group > 1)
    steps = -(-extents["ic"] // ic) * np.where(spans, oc, 1)
    return WorkCounts.of(
        workload.output(oc, *pixels).in_planes(planes),
        workload.epilogue,
        resident_operands(choices),
        (*copies, *more),
        redundancy,
        np.maximum(workload.kernel_length(choices), kernel_length(oc, *pixels, planes)),
        ReductionWork(steps, size * extents["ic"] * workload.taps, size),
        planes,
    )


def _input_tile(workload: Conv2dWorkload, y: Ints, x: Ints) -> tuple[Ints, Ints]:
    """The most rows and columns of the image that a tile loads, not counting padding: from its
    first window to its last, between strides too."""
    rows, columns = workload.input_extent(0, y), workload.input_extent(1, x)
    return np.minimum(rows, workload.data[2]), np.minimum(columns, workload.data[3])

"""The wide space of convolutions: loads, products and passes that overlap within one tile.

::

    for n, tiles of oc, y, x:
      for steps of ic:
        load a part of the image
        for rows of the kernel, parts of oc:
          reset the part's sums, in the first step
          load weights, multiply
          in the last step, the passes of the epilogue, and store

There is one virtual thread. The image, the weights and the sums have several slots each, taken in
rotation, so that what is loaded next does not overwrite what is in use. An operand with a slot for
each of a tile's loads stays for the tiles of the inner loops: a load of what is there is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.conv2d_tiled import (
    image_on_chip,
    loops_in_tile,
    loops_of_tiles,
    tensorized,
    tiles_of_sums,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.tiling import parameter_usage
from tandem.compiler.machines.accelerator.templates.traffic import loaded_elements
from tandem.compiler.machines.accelerator.templates.work_counts import (
    ReductionWork,
    WorkCounts,
    kernel_length,
    tile_shapes,
)
from tandem.compiler.plan.space import Bools, Choices, Ints, Space, divisors, tile_sizes
from tandem.compiler.te.knobs import Choice, OpenTrace, Setting, knob
from tandem.hw.topology import MemoryId

ORDERS = ("outputs", "pixels")
"""The orders of loops over tiles: by what changes last, the output channels or the pixels."""
ALL = 0
"""The setting of `image_slots` and `weight_slots` for a slot for each of a tile's loads."""
SLOTS: Mapping[str, tuple[int, ...]] = {
    "image_slots": (2, 1, 3, ALL),
    "weight_slots": (2, 1, 3, 4, ALL),
    "sum_slots": (2, 1),
}
"""The settings of the knobs for numbers of slots."""


def is_pipelined(choice: Choice | Choices) -> bool:
    """Whether choices are of the wide space."""
    knobs = choice.columns if isinstance(choice, Choices) else choice
    return "part" in knobs


def packs_rows(workload: Conv2dWorkload) -> bool:
    """Whether only the rows of the image that windows read are on chip, without the rows between:
    where a window has one row, and there are rows between."""
    return workload.weight[2] == 1 and workload.strides[0] > 1


def space(workload: Conv2dWorkload) -> Space:
    """The knobs: sizes of tiles, steps and parts, and slots. A tile's outputs are of one group."""
    extents = workload.extents
    return Space(
        {
            "threads": (1,),
            "ic": divisors(extents["ic"]),
            "oc": divisors(workload.blocks_per_group),
            "part": divisors(workload.blocks_per_group),
            "ky": divisors(workload.weight[2])[::-1],
            "x": tile_sizes(extents["x"]),
            "y": tile_sizes(extents["y"]),
            "order": ORDERS,
            "along": ("oc",),
            **SLOTS,
        },
        lambda choices: consistent(workload, choices),
    )


def consistent(workload: Conv2dWorkload, choices: Choices) -> Bools:
    """Whether parts divide tiles, and no two choices are one program."""
    extents = workload.extents
    possible: Bools = choices["oc"] % choices["part"] == 0
    only = np.ones(len(choices), np.bool_)
    for axis in ("oc", "y", "x"):
        only &= choices[axis] >= extents[axis]
    # The order of a single loop is one order.
    alone = (choices["oc"] >= extents["oc"]) | (
        (choices["y"] >= extents["y"]) & (choices["x"] >= extents["x"])
    )
    possible &= ~alone | choices.equals("order", "outputs")
    possible &= ~only | (choices["sum_slots"] == 1)
    for name, loads in loads_of_tile(workload, choices).items():
        possible &= (choices[name] != ALL) | (loads > max(SLOTS[name]))
    return possible


def loads_of_tile(workload: Conv2dWorkload, choices: Choices) -> dict[str, Ints]:
    """How often a tile loads into the slots of each operand, by their knob."""
    steps = -(-workload.extents["ic"] // choices["ic"])
    products = steps * (choices["oc"] // choices["part"]) * (workload.weight[2] // choices["ky"])
    return {"image_slots": steps, "weight_slots": products}


def slots(workload: Conv2dWorkload, choices: Choices) -> dict[str, Ints]:
    """The number of slots of each operand, by their knob."""
    loads = loads_of_tile(workload, choices)
    found = {
        name: np.where(choices[name] == ALL, count, choices[name]) for name, count in loads.items()
    }
    return {**found, "sum_slots": choices["sum_slots"]}


def settings(workload: Conv2dWorkload, choice: Choice) -> dict[str, Setting]:
    """A choice with numbers of slots, as the sketch takes them."""
    found = slots(workload, Choices.of([choice]))
    return {**choice, **{name: int(number.item()) for name, number in found.items()}}


def sketch(
    workload: Conv2dWorkload, machine: AcceleratorTarget, pixels: tuple[str, ...] = ("y", "x")
) -> OpenTrace:
    """The schedule primitives, with open knobs; the image without gaps is the stage `out_rows`.

    Parameters
    ----------
    pixels
        The axes of the output, beside that of channels, along which there are tiles.
    """
    sums, epilogue = "out_sum", workload.epilogue
    loops = {"outputs": loops_of_tiles("oc", *pixels), "pixels": loops_of_tiles(*pixels, "oc")}
    inner = ("n", "oc", "y", "x")
    axes = tuple(axis for axis in inner if axis in ("oc", *pixels))
    steps = tiles_of_sums(epilogue, axes, axes, (knob("order", loops),))
    steps = (
        steps.split(sums, "ic", knob("ic"), ("ic_o", "ic_i"))
        .split(sums, "oc", knob("part"), ("part", "oc"))
        .split(sums, "ky", knob("ky"), ("ky_o", "ky"))
        .reorder(sums, "ic_o", "ky_o", "part", *inner, *"ic_i ky kx b bo bi".split())
        .multi_buffer(sums, knob("sum_slots"))
    )
    for stage in epilogue.stages:
        steps = (
            steps.split(stage, "oc", knob("part"), ("part", "oc"))
            .reorder(stage, "part", *inner, "b", "bo")
            .eager(stage, "part")
            .multi_buffer(stage, knob("sum_slots"))
        )
    steps = (
        steps.split("out", "oc_i", knob("part"), ("part", "oc_i"))
        .reorder("out", "part", *loops_in_tile(*axes))
        .eager("out", "part")
    )
    if packs_rows(workload):
        image = "out_rows"
        steps = steps.compute_inline("out_pad") if any(workload.padding) else steps
        steps = steps.set_scope(image, OnChip.INP)
    else:
        steps, image = image_on_chip(steps, workload)
    steps = (
        steps.cache_read("weight", (sums,), OnChip.WGT, "out_weight")
        .compute_at("out_weight", sums, "part")
        .compute_at(image, sums, "ic_o")
        .multi_buffer("out_weight", knob("weight_slots"))
        .multi_buffer(image, knob("image_slots"))
    )
    return tensorized(steps, epilogue, machine.config).trace


def usage(workload: Conv2dWorkload, choices: Choices) -> dict[MemoryId, Ints]:
    """Elements of each memory that a choice takes."""
    tile, epilogue = choices.at_most(workload.extents), workload.epilogue
    oc, y, x = (tile[axis] for axis in ("oc", "y", "x"))
    size, outputs, taken = oc * y * x, workload.weight[0], slots(workload, tile)
    return {
        MemoryId.ACC: taken["sum_slots"] * size * (1 + epilogue.element_operands)
        + len(epilogue.channel_operands) * outputs,
        MemoryId.INP: taken["image_slots"] * image_of_slot(workload, tile)
        + size * epilogue.input_operands,
        MemoryId.WGT: taken["weight_slots"] * weights_of_slot(workload, tile),
        **parameter_usage(epilogue, outputs, oc),
    }


def image_of_slot(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """Elements of INP that a load of the image takes, padding included."""
    rows, columns = image_extents(workload, choices["y"], choices["x"])
    return rows * columns * choices["ic"]


def weights_of_slot(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """Elements of WGT that a load of weights takes."""
    return choices["part"] * choices["ic"] * taps(workload, choices)


def taps(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """Taps of the kernel in one load of weights."""
    return choices["ky"] * workload.weight[3]


def image_extents(workload: Conv2dWorkload, y: Ints, x: Ints) -> tuple[Ints, Ints]:
    """Rows and columns of the image on chip, padding included, for a tile of `y` by `x`."""
    columns = np.minimum(workload.input_extent(1, x), workload.padded[1])
    if packs_rows(workload):
        return y, columns
    return np.minimum(workload.input_extent(0, y), workload.padded[0]), columns


def work_counts(workload: Conv2dWorkload, choices: Choices) -> WorkCounts:
    """The traffic and arithmetic of the programs of choices."""
    extents, images = workload.extents, workload.data[0]
    y, x, ic = (choices[axis] for axis in ("y", "x", "ic"))
    whole = tuple(extents[axis] for axis in ("oc", "y", "x"))
    steps, part = -(-extents["ic"] // ic), choices["part"]
    window_rows, window_columns = workload.windows
    height = np.ones_like(y) if packs_rows(workload) else y
    pixels = loaded_elements(window_rows, height) * loaded_elements(window_columns, x)
    weights = workload.weight_loads(part, ic, taps(workload, choices))
    boxes = (
        (workload.groups * count, (depth, *_clipped(workload, rows, columns)))
        for count, (depth, rows, columns) in tile_shapes((extents["ic"], *whole[1:]), (ic, y, x))
    )
    image = replace(
        workload.image_loads(boxes),
        elements=np.asarray(workload.data[1] * pixels, np.float64),
    )
    size = images * prod(whole)
    of_weights, of_image = repeats(workload, choices)
    kernel = kernel_length(part, y, x, ic, choices["ky"], workload.weight[3])
    rows = workload.weight[2] // choices["ky"]
    resident = np.ones(len(choices), np.bool_)
    loads = weights.times(of_weights), image.times(images * of_image)
    counts = WorkCounts.of(
        workload.output(part, y, x),
        workload.epilogue,
        resident,
        loads,
        np.ones(len(choices)),
        kernel,
        ReductionWork(steps * rows, size * extents["ic"] * workload.taps, size),
    )
    # Residuals in INP and parameters are loaded for whole tiles.
    tiles = workload.output(choices["oc"], y, x)
    _, *operands = tiles.copies(workload.epilogue, resident)
    stored = counts.copies[len(loads)]
    return replace(counts, copies=(*loads, stored, *operands))


def _clipped(workload: Conv2dWorkload, y: Ints, x: Ints) -> tuple[Ints, Ints]:
    """The most rows and columns of the image that a tile loads, not counting padding."""
    rows, columns = image_extents(workload, y, x)
    return np.minimum(rows, workload.data[2]), np.minimum(columns, workload.data[3])


def repeats(workload: Conv2dWorkload, choices: Choices) -> tuple[Ints, Ints]:
    """How often all weights are loaded, and each image; no more than that where an operand stays.

    A box of data is loaded again unless its slot still has it: the same box came as many loads
    before as there are slots, which are those of a whole number of tiles then. A part of the image
    has the tiles of its group as readers.
    """
    return weight_repeats(workload, choices), image_repeats(workload, choices)


def weight_repeats(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """How often all weights are loaded."""
    extents, images = workload.extents, workload.data[0]
    channels = -(-extents["oc"] // choices["oc"])
    pixels = -(-extents["y"] // choices["y"]) * -(-extents["x"] // choices["x"])
    of_tiles = _tiles_of_slots(workload, choices, "weight_slots")
    return np.select(
        [
            of_tiles == 0,
            channels == 1,
            choices.equals("order", "outputs"),
            of_tiles % channels == 0,
        ],
        [
            images * pixels,
            np.minimum(of_tiles, images * pixels),
            # Of more tiles some may still be there for the next image.
            np.where(of_tiles <= pixels, images, 1) * np.minimum(of_tiles, pixels),
            np.ones_like(channels),
        ],
        images * pixels,
    )


def image_repeats(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """How often each image is loaded."""
    extents = workload.extents
    readers = workload.blocks_per_group // choices["oc"]
    pixels = -(-extents["y"] // choices["y"]) * -(-extents["x"] // choices["x"])
    of_tiles = _tiles_of_slots(workload, choices, "image_slots")
    by_pixels = ~choices.equals("order", "outputs") | (pixels == 1)
    return np.select(
        [of_tiles == 0, by_pixels, of_tiles % pixels == 0],
        [readers, np.minimum(of_tiles, readers), np.ones_like(readers)],
        readers,
    )


def _tiles_of_slots(workload: Conv2dWorkload, choices: Choices, name: str) -> Ints:
    """The tiles whose loads an operand's slots are for; 0 if these are no whole number."""
    loads = loads_of_tile(workload, choices)[name]
    taken = np.where(choices[name] == ALL, loads, choices[name])
    return np.where(taken % loads == 0, taken // loads, 0)
